#include <fmt/format.h>

#include <cstdio>
#include <iterator>

#include "cli/format.h"
#include "cli/report.h"
#include "cli/subcommands.h"
#include "control/limits.h"

namespace tutti::cli {
namespace {

std::string Overview(const Report& report) {
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    fmt::format_to(std::back_inserter(text), "{:<16}{}\n", name, value);
  };
  line("daemon",
       fmt::format("process {}, user {}, version {}", report.daemon_pid, UserName(report.daemon_uid), report.version));
  line("pipe directory", report.pipe_directory);
  line("log directory", report.log_directory);
  line("policy", report.policy);
  line("default threads", control::FormatPercentage(report.default_percentage) + "%");
  if (report.servers.empty()) line("servers", "none yet; the first client starts one");
  for (const ServerReport& server : report.servers) {
    line("server",
         fmt::format("process {}, user {}, {}, {}{}", server.pid, UserName(server.uid), server.state,
                     Plural(server.clients.size(), "client"), server.error.empty() ? "" : ", " + server.error));
    for (const DeviceReport& device : server.devices) {
      line("  device", fmt::format("{}: {}, {} SMs, {}, {}", device.ordinal, device.name, device.sm_count,
                                   Bytes(device.total_bytes), device.uuid));
    }
  }
  return text;
}

int ShowStatus(bool json) {
  auto daemon = control::DaemonConnection::Open(control::PlacesFromEnvironment());
  if (!daemon) return Complain(daemon.error().text);
  const auto report = FetchReport(*daemon);
  if (!report) return Complain(report.error().text);
  std::fputs(json ? report->json.c_str() : Overview(*report).c_str(), stdout);
  return 0;
}

}  // namespace

void AddStatus(Command& tutti) {
  Command& status = tutti.AddCommand("status", "Show the daemon, its servers and devices; fails if there is no daemon");
  const auto json = std::make_shared<bool>(false);
  status.AddFlag("--json", json.get(), "As JSON");
  status.Do([json] { return ShowStatus(*json); });
}

}  // namespace tutti::cli
