#include "kubernetes/share_keeper.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <vector>

#include "base/log.h"
#include "kubernetes/daemon_keeper.h"
#include "kubernetes/entitlement.h"

namespace tutti::kubernetes {
namespace {

// The commands that adjust a client to its entitlement, if any. Only an annotation raises a limit, since a client may
// itself have asked for less.
std::string Commands(const control::ClientReport& client, const Entitlement& entitled) {
  std::string commands;
  if (entitled.percentage && (client.percentage > *entitled.percentage + 0.05 ||
                              (entitled.asked && client.percentage < *entitled.percentage - 0.05))) {
    commands += fmt::format("set_active_thread_percentage {} {:g}\n", client.pid, *entitled.percentage);
  }
  const uint64_t limit = client.limit_bytes.value_or(~0ull);
  if (entitled.memory_bytes && (limit > *entitled.memory_bytes || (entitled.asked && limit < *entitled.memory_bytes))) {
    commands +=
        fmt::format("set_device_pinned_mem_limit {} {} {}M\n", client.pid, client.device, *entitled.memory_bytes >> 20);
  }
  return commands;
}

}  // namespace

void ShareKeeper::Apply(control::DaemonConnection& daemon, const control::Report& report) {
  (void)pods_.Refresh();
  std::vector<PodContainer> holders = pods_.Holders();
  const std::vector<sharing::DeviceFacts> devices = DevicesOf(report, geteuid());
  // The kubelet knows who holds what, the runtime the annotations.
  pods_.AddAnnotations(holders);
  const Entitlements all = Entitle(config_, devices, holders);
  for (const std::string& line : all.refused) {
    if (said_.insert(line).second) log::Warning("{}", line);
  }
  for (const control::ServerReport& server : report.servers) {
    for (const control::ClientReport& client : server.clients) {
      if (client.pid == 0 || client.device >= server.devices.size()) continue;
      const auto owner = pods_.Find(static_cast<pid_t>(client.pid));
      if (!owner) continue;
      const auto granted =
          all.granted.find({owner->space, owner->pod, owner->container, server.devices[client.device].uuid});
      if (granted == all.granted.end()) continue;
      const std::string commands = Commands(client, granted->second);
      std::string& last = sent_[{server.pid, client.id, client.device}];
      if (commands.empty() || commands == last) continue;
      last = commands;
      for (size_t begin = 0; begin < commands.size(); begin = commands.find('\n', begin) + 1) {
        const std::string command = commands.substr(begin, commands.find('\n', begin) - begin);
        const auto answer = daemon.Run(command);
        log::Info("{}/{}, container {}: {}: {}", owner->space, owner->pod, owner->container, command,
                  answer ? answer->text.substr(0, answer->text.find('\n')) : answer.error().text);
      }
    }
  }
}

}  // namespace tutti::kubernetes
