#include <fmt/format.h>

#include <algorithm>

#include "control/words.h"
#include "daemon/commands/access.h"
#include "daemon/commands/client_query.h"
#include "daemon/commands/commands.h"

namespace tutti::daemon::commands {

// A kernel that runs longer ends with CUDA_ERROR_LAUNCH_TIMEOUT. Only root and the daemon's user may raise a running
// client's limit.
void SetClientKernelTime(const CommandCall& call) {
  constexpr uint64_t kNsPerMs = 1'000'000;
  WithClient(
      call,
      [call](ServerHandle& server, const ServerClients&, const ClientProcess& client) {
        const auto milliseconds = control::ParseNumber(call.word(2));
        if (!milliseconds)
          return call.reply.Line(
              fmt::format("\"{}\" is not a number of milliseconds: give 500, or 0 for no limit", call.word(2)));
        const auto ends_no_kernel = [](const wire::ServedDevice& device) {
          return (device.traits & wire::kDeviceEndsKernels) == 0;
        };
        if (std::ranges::any_of(server.devices(), ends_no_kernel))
          return call.reply.Line("this server's device does not end kernels: a limit of their time has no effect");
        const uint64_t kernel_ns = *milliseconds * kNsPerMs;
        const bool raises = client.first.kernel_ns != 0 && (kernel_ns == 0 || kernel_ns > client.first.kernel_ns);
        if (raises && !call.caller.administrator) {
          return call.reply.Line(
              fmt::format("Permission denied: user {} cannot give a client more time", call.caller.uid));
        }
        AskAbout(server, client, wire::MessageKind::kServerSet,
                 wire::ServerSet{.what = wire::SettingKind::kKernelTime, .number = kernel_ns},
                 [reply = call.reply](const Result<wire::ServerReply>& answer) {
                   if (!answer) return reply.Line(answer.error().text);
                   answer->status == 0 ? reply.Nothing() : reply.Line(answer->text);
                 });
      },
      ClientNotFound);
}

}  // namespace tutti::daemon::commands
