// `tutti top`: the difference of two reports, again and again. On a terminal it redraws in place until Ctrl-C; elsewhere
// it prints one table after the other, so that it can be piped.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>

#include "base/clock.h"
#include "cli/format.h"
#include "cli/report.h"
#include "cli/subcommands.h"
#include "control/limits.h"

namespace tutti::cli {
namespace {

struct Sample {
  uint64_t taken_ns = 0;
  Report report;
};

struct Row {
  const ServerReport* server;
  const ClientReport* client;
  double launches_per_second = 0;
  double share = 0;  // of all SMs of its device
};

using ClientKey = std::tuple<uint32_t, uint32_t, uint32_t>;  // server, client, device

std::map<ClientKey, const ClientReport*> ClientsOf(const Report& report) {
  std::map<ClientKey, const ClientReport*> clients;
  for (const ServerReport& server : report.servers) {
    for (const ClientReport& client : server.clients) clients[{server.pid, client.pid, client.device}] = &client;
  }
  return clients;
}

double SmCount(const ServerReport& server, uint32_t device) {
  return device < server.devices.size() ? std::max(1u, server.devices[device].sm_count) : 1;
}

std::vector<Row> Rows(const Sample& before, const Sample& now) {
  const auto earlier = ClientsOf(before.report);
  const double seconds = std::max(1e-9, static_cast<double>(now.taken_ns - before.taken_ns) / 1e9);
  std::vector<Row> rows;
  for (const ServerReport& server : now.report.servers) {
    for (const ClientReport& client : server.clients) {
      Row row{.server = &server, .client = &client, .share = client.share};
      const auto found = earlier.find({server.pid, client.pid, client.device});
      if (found != earlier.end() && client.launches >= found->second->launches && client.busy_ns >= found->second->busy_ns) {
        const double busy_s = static_cast<double>(client.busy_ns - found->second->busy_ns) / 1e9;
        row.launches_per_second = static_cast<double>(client.launches - found->second->launches) / seconds;
        row.share = busy_s / (seconds * SmCount(server, client.device));
      }
      rows.push_back(row);
    }
  }
  std::ranges::stable_sort(rows, std::greater(), &Row::share);
  return rows;
}

std::string Bar(double fraction, size_t width) {
  const auto filled = static_cast<size_t>(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(width) + 0.5);
  return std::string(filled, '#') + std::string(width - filled, '.');
}

std::string Frame(const Sample& before, const Sample& now) {
  const std::vector<Row> rows = Rows(before, now);
  double busy = 0;
  for (const Row& row : rows) busy += row.share;
  std::string text = fmt::format("tutti top - policy {}, {}, {}, device {} busy\n\n", now.report.policy,
                                 Plural(now.report.servers.size(), "server"), Plural(rows.size(), "client"), Percent(busy));
  std::vector<std::vector<std::string>> table{{"PID", "USER", "DEV", "SHARE", "", "THREADS", "MEMORY", "LIMIT", "LAUNCH/S", "COMMAND"}};
  const size_t room = std::max<size_t>(20, TerminalWidth() - std::min<size_t>(TerminalWidth(), 90));
  for (const Row& row : rows) {
    const ClientReport& client = *row.client;
    table.push_back({std::to_string(client.pid), UserName(client.uid), std::to_string(client.device), Percent(row.share),
                     Bar(row.share, 10), control::FormatPercentage(client.percentage) + "%", Bytes(client.used_bytes),
                     client.limit_bytes ? Bytes(*client.limit_bytes) : "-", Count(row.launches_per_second),
                     Shortened(CommandName(client.command), room)});
  }
  return text + Table(table, {0, 2, 3, 5, 6, 7, 8});
}

Result<Sample> Take(control::DaemonConnection& daemon) {
  TUTTI_ASSIGN(Report report, FetchReport(daemon));
  return Sample{NowNs(), std::move(report)};
}

int Top(double interval_s, uint32_t times) {
  auto daemon = control::DaemonConnection::Open(control::PlacesFromEnvironment());
  if (!daemon) return Complain(daemon.error().text);
  const bool redraw = isatty(STDOUT_FILENO) != 0;
  auto before = Take(*daemon);
  for (uint32_t shown = 0; before && (times == 0 || shown < times); ++shown) {
    usleep(static_cast<useconds_t>(interval_s * 1e6));
    auto now = Take(*daemon);
    if (!now) return Complain(now.error().text);
    if (redraw) std::fputs("\x1b[H\x1b[2J", stdout);
    if (!redraw && shown > 0) std::fputs("\n", stdout);
    std::fputs(Frame(*before, *now).c_str(), stdout);
    std::fflush(stdout);
    before = std::move(now);
  }
  return before ? 0 : Complain(before.error().text);
}

}  // namespace

void AddTop(CLI::App& app, int& status) {
  struct TopOptions {
    double interval_s = 1;
    uint32_t times = 0;
  };
  auto* const command = app.add_subcommand("top", "Show live what each program takes of the device");
  const auto options = std::make_shared<TopOptions>();
  command->add_option("-d,--interval", options->interval_s, "Seconds between two looks")->check(CLI::Range(0.05, 3600.0))->capture_default_str();
  command->add_option("-n,--times", options->times, "Stop after so many; 0: at Ctrl-C")->capture_default_str();
  command->callback([options, &status] { status = Top(options->interval_s, options->times); });
}

}  // namespace tutti::cli
