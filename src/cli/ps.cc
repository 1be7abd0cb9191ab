#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "cli/format.h"
#include "cli/report.h"
#include "cli/subcommands.h"
#include "control/limits.h"

namespace tutti::cli {
namespace {

std::string ClientTable(const Report& report) {
  std::vector<std::vector<std::string>> rows{
      {"PID", "USER", "SERVER", "DEV", "STATE", "THREADS", "SHARE", "MEMORY", "LIMIT", "LAUNCHES", "COMMAND"}};
  for (const ServerReport& server : report.servers) {
    for (const ClientReport& client : server.clients) {
      rows.push_back({std::to_string(client.pid), UserName(client.uid), std::to_string(server.pid),
                      std::to_string(client.device), client.state, control::FormatPercentage(client.percentage) + "%",
                      Percent(client.share), Bytes(client.used_bytes),
                      client.limit_bytes ? Bytes(*client.limit_bytes) : "-",
                      Count(static_cast<double>(client.launches)), Shortened(CommandName(client.command), 60)});
    }
  }
  return Table(rows, {0, 2, 3, 5, 6, 7, 8, 9});
}

std::string Extents(const std::vector<uint32_t>& extents) { return fmt::format("({})", fmt::join(extents, ",")); }

std::string KernelTable(const Report& report) {
  std::vector<std::vector<std::string>> rows{
      {"PID", "USER", "DEV", "SECONDS", "DONE", "BEGUN", "BLOCKS", "GRID", "THREADS", "KERNEL", "COMMAND"}};
  for (const ServerReport& server : report.servers) {
    for (const ClientReport& client : server.clients) {
      for (const KernelReport& kernel : client.kernels) {
        rows.push_back({std::to_string(client.pid), UserName(client.uid), std::to_string(client.device),
                        fmt::format("{:.1f}", kernel.seconds), std::to_string(kernel.done),
                        std::to_string(kernel.begun), std::to_string(kernel.blocks), Extents(kernel.grid),
                        Extents(kernel.block), Shortened(kernel.name, 60), Shortened(CommandName(client.command), 40)});
      }
    }
  }
  return Table(rows, {0, 2, 3, 4, 5, 6});
}

int Ps(bool json, bool kernels) {
  auto daemon = control::DaemonConnection::Open(control::PlacesFromEnvironment());
  if (!daemon) return Complain(daemon.error().text);
  const auto report = FetchReport(*daemon);
  if (!report) return Complain(report.error().text);
  const std::string text = json ? report->json : kernels ? KernelTable(*report) : ClientTable(*report);
  std::fputs(text.c_str(), stdout);
  for (const ServerReport& server : report->servers) {
    if (json || !kernels || server.kernels_left_out == 0) continue;
    fmt::print("Server {} runs {} more kernels, too many for one list.\n", server.pid, server.kernels_left_out);
  }
  for (const ServerReport& server : report->servers) {
    if (!server.error.empty()) return Complain(server.error);
  }
  return 0;
}

}  // namespace

void AddPs(Command& tutti) {
  struct PsOptions {
    bool json = false, kernels = false;
  };
  Command& ps = tutti.AddCommand("ps", "List the programs that share the device");
  const auto options = std::make_shared<PsOptions>();
  ps.AddFlag("--json", &options->json, "As JSON");
  ps.AddFlag("-k,--kernels", &options->kernels, "List the running kernels instead of the programs");
  ps.Do([options] { return Ps(options->json, options->kernels); });
}

}  // namespace tutti::cli
