#include <fmt/format.h>

#include <CLI/CLI.hpp>
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
      rows.push_back({std::to_string(client.pid), UserName(client.uid), std::to_string(server.pid), std::to_string(client.device),
                      client.state, control::FormatPercentage(client.percentage) + "%", Percent(client.share),
                      Bytes(client.used_bytes), client.limit_bytes ? Bytes(*client.limit_bytes) : "-",
                      Count(static_cast<double>(client.launches)), Shortened(CommandName(client.command), 60)});
    }
  }
  return Table(rows, {0, 2, 3, 5, 6, 7, 8, 9});
}

int Ps(bool json) {
  auto daemon = control::DaemonConnection::Open(control::PlacesFromEnvironment());
  if (!daemon) return Complain(daemon.error().text);
  const auto report = FetchReport(*daemon);
  if (!report) return Complain(report.error().text);
  std::fputs(json ? report->json.c_str() : ClientTable(*report).c_str(), stdout);
  for (const ServerReport& server : report->servers) {
    if (!server.error.empty()) return Complain(server.error);
  }
  return 0;
}

}  // namespace

void AddPs(CLI::App& app, int& status) {
  auto* const command = app.add_subcommand("ps", "List the programs that share the device");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "As JSON");
  command->callback([json, &status] { status = Ps(*json); });
}

}  // namespace tutti::cli
