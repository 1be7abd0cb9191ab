// The whole state in one reply, for programs: `tutti ps`, `tutti top` and `tutti status` read it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "control/version.h"
#include "daemon/commands/access.h"
#include "daemon/commands/client_query.h"
#include "daemon/commands/commands.h"
#include "daemon/commands/server_lines.h"

namespace tutti::daemon::commands {
namespace {

using Json = nlohmann::ordered_json;

const char* ClientStateName(wire::ClientState state) {
  switch (state) {
    case wire::ClientState::kActive: return "ACTIVE";
    case wire::ClientState::kInactive: return "INACTIVE";
    case wire::ClientState::kFault: return "FAULT";
  }
  return "UNKNOWN";
}

Json LimitOrNull(uint64_t bytes) { return bytes == control::kNoMemoryLimit ? Json() : Json(bytes); }

// Older servers may send fewer, newer ones more than we know.
Json Counters(const wire::ClientStatus& client) {
  constexpr const char* kNames[] = {
#define TUTTI_COUNTER(name, kind, unit, help) #name,
#include "metrics/counters.def"
#undef TUTTI_COUNTER
  };
  Json counters = Json::object();
  for (size_t i = 0; i < std::min(std::size(kNames), client.counters.size()); ++i)
    counters[kNames[i]] = client.counters[i];
  return counters;
}

// The running kernels that the server reports, by client and device, and the number it left out.
struct Kernels {
  std::map<std::pair<uint32_t, uint32_t>, Json> of_client;
  uint64_t left_out = 0;
};

Kernels KernelsOf(const ServerClients& server) {
  Kernels kernels;
  for (Json& kernel : ReadServerLines(server.running)) {
    if (kernel["left_out"].is_number_unsigned()) kernels.left_out = kernel["left_out"].get<uint64_t>();
    kernel.erase("left_out");
    if (!kernel["id"].is_number_unsigned() || !kernel["device"].is_number_unsigned()) continue;
    Json& list = kernels.of_client[{kernel["id"].get<uint32_t>(), kernel["device"].get<uint32_t>()}];
    kernel.erase("id");
    kernel.erase("device");
    list.push_back(std::move(kernel));
  }
  return kernels;
}

Json OfClient(const ServerClients& server, const Kernels& kernels, const wire::ClientStatus& client) {
  const auto running = kernels.of_client.find({client.id, client.device});
  return {{"pid", client.pid},
          {"id", client.id},
          {"uid", client.uid},
          {"pid_namespace", client.pid_namespace},
          {"inner_pid", InnermostPid(client.pid)},
          {"command", client.command_line},
          {"device", client.device},
          {"device_uuid", DeviceUuid(server, client.device)},
          {"state", ClientStateName(client.state)},
          {"active_thread_percentage", client.percentage},
          {"share", client.share},
          {"used_bytes", client.used_bytes},
          {"limit_bytes", LimitOrNull(client.limit_bytes)},
          {"launches", client.launches},
          {"busy_ns", client.busy_ns},
          {"priority", client.priority},
          {"name_space", client.name_space},
          {"cgroup", CgroupOf(client.pid)},
          {"kernels", running != kernels.of_client.end() ? running->second : Json::array()},
          {"counters", Counters(client)}};
}

Json OfServer(const ServerClients& server) {
  Json devices = Json::array();
  for (uint32_t i = 0; i < server.devices.size(); ++i) {
    const wire::ServedDevice& device = server.devices[i];
    devices.push_back({{"ordinal", i},
                       {"uuid", DeviceUuid(server, i)},
                       {"name", device.name},
                       {"total_bytes", device.total_bytes},
                       {"sm_count", device.sm_count},
                       {"compute_capability", fmt::format("{}.{}", device.compute_major, device.compute_minor)},
                       {"capabilities", wire::Capabilities(device.traits)},
                       {"pci", PciAddress(device)}});
  }
  Json clients = Json::array();
  const Kernels kernels = KernelsOf(server);
  for (const auto& client : server.clients) clients.push_back(OfClient(server, kernels, client));
  return {{"pid", server.server_pid},
          {"name", server.name},
          {"uid", server.uid},
          {"policy", server.policy},
          {"state", StateName(server.state)},
          {"active_thread_percentage", server.settings.active_thread_percentage},
          {"error", server.error},
          {"devices", devices},
          {"kernels_left_out", kernels.left_out},
          {"clients", clients}};
}

Json OfDaemon(const CommandContext& context) {
  return {{"pid", getpid()},
          {"uid", geteuid()},
          {"version", control::kBinaryVersion},
          {"pipe_directory", context.options.places.pipe_directory},
          {"log_directory", context.options.places.log_directory},
          {"protocol", context.options.protocol},
          {"multi_user", context.options.multi_user},
          {"policy", context.defaults.policy},
          {"default_active_thread_percentage", context.defaults.server.active_thread_percentage},
          {"default_client_priority", context.defaults.client_priority},
          {"memory_sharing", control::MemorySharingName(context.defaults.memory_sharing)}};
}

}  // namespace

void Report(const CommandCall& call) {
  QueryClients(call, VisibleServers(call), [call](const std::vector<ServerClients>& servers) {
    Json list = Json::array();
    for (const ServerClients& server : servers) list.push_back(OfServer(server));
    const Json report = {{"daemon", OfDaemon(call.context)}, {"servers", list}};
    // Clients choose their command lines; invalid UTF-8 in them is replaced.
    call.reply.Line(report.dump(-1, ' ', false, Json::error_handler_t::replace));
  });
}

}  // namespace tutti::daemon::commands
