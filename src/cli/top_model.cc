#include "cli/top_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "cli/format.h"
#include "control/limits.h"

namespace tutti::cli {
namespace {

// Server, the server's number of the client, device: programs in containers may share a process id.
using ClientKey = std::tuple<uint32_t, uint32_t, uint32_t>;

std::map<ClientKey, const ClientReport*> ClientsOf(const Report& report) {
  std::map<ClientKey, const ClientReport*> clients;
  for (const ServerReport& server : report.servers) {
    for (const ClientReport& client : server.clients) clients[{server.pid, client.id, client.device}] = &client;
  }
  return clients;
}

double SmCount(const ServerReport& server, uint32_t device) {
  return device < server.devices.size() ? std::max(1u, server.devices[device].sm_count) : 1;
}

std::string LongestKernel(const ClientReport& client) {
  const auto longest = std::ranges::max_element(client.kernels, {}, &KernelReport::seconds);
  if (longest == client.kernels.end()) return "";
  return fmt::format("{} {}/{} {:.1f}s", Shortened(longest->name, 32), longest->done, longest->blocks,
                     longest->seconds);
}

TopRow RowOf(const ServerReport& server, const ClientReport& client, const ClientReport* earlier, double seconds) {
  TopRow row{.pid = client.pid,
             .user = UserName(client.uid),
             .device = client.device,
             .state = client.state,
             .share = client.share,
             .percentage = client.percentage,
             .used_bytes = client.used_bytes,
             .limit_bytes = client.limit_bytes,
             .command = CommandName(client.command),
             .kernel = LongestKernel(client)};
  if (earlier == nullptr || client.launches < earlier->launches || client.busy_ns < earlier->busy_ns) return row;
  row.launches_per_second = static_cast<double>(client.launches - earlier->launches) / seconds;
  row.share = static_cast<double>(client.busy_ns - earlier->busy_ns) / 1e9 / (seconds * SmCount(server, client.device));
  return row;
}

void Sort(std::vector<TopRow>& rows, TopOrder order) {
  switch (order) {
    case TopOrder::kShare: std::ranges::stable_sort(rows, std::greater(), &TopRow::share); break;
    case TopOrder::kMemory: std::ranges::stable_sort(rows, std::greater(), &TopRow::used_bytes); break;
    case TopOrder::kLaunches: std::ranges::stable_sort(rows, std::greater(), &TopRow::launches_per_second); break;
    case TopOrder::kPid: std::ranges::stable_sort(rows, std::less(), &TopRow::pid); break;
  }
}

}  // namespace

TopModel Compare(const Sample& before, const Sample& now, TopOrder order) {
  const auto earlier = ClientsOf(before.report);
  const double seconds = std::max(1e-9, static_cast<double>(now.taken_ns - before.taken_ns) / 1e9);
  TopModel model{.policy = now.report.policy, .servers = now.report.servers.size()};
  for (const ServerReport& server : now.report.servers) {
    const size_t first_device = model.devices.size();
    for (const DeviceReport& device : server.devices) {
      model.devices.push_back({.server_pid = server.pid,
                               .user = UserName(server.uid),
                               .ordinal = device.ordinal,
                               .name = device.name,
                               .sm_count = device.sm_count,
                               .total_bytes = device.total_bytes});
    }
    for (const ClientReport& client : server.clients) {
      const auto found = earlier.find({server.pid, client.id, client.device});
      model.rows.push_back(RowOf(server, client, found == earlier.end() ? nullptr : found->second, seconds));
      if (client.device >= server.devices.size()) continue;
      TopDevice& device = model.devices[first_device + client.device];
      device.busy = std::min(1.0, device.busy + model.rows.back().share);
      device.used_bytes += client.used_bytes;
    }
  }
  Sort(model.rows, order);
  return model;
}

std::string Bar(double fraction, size_t width) {
  const auto filled = static_cast<size_t>(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(width) + 0.5);
  return std::string(filled, '#') + std::string(width - filled, '.');
}

std::string TopText(const TopModel& model) {
  double busy = 0;
  for (const TopDevice& device : model.devices) busy += device.busy / static_cast<double>(model.devices.size());
  std::string text = fmt::format("tutti top - policy {}, {}, {}, device {} busy\n\n", model.policy,
                                 Plural(model.servers, "server"), Plural(model.rows.size(), "client"), Percent(busy));
  std::vector<std::vector<std::string>> table{
      {"PID", "USER", "DEV", "SHARE", "", "THREADS", "MEMORY", "LIMIT", "LAUNCH/S", "COMMAND", "KERNEL"}};
  const size_t room = std::max<size_t>(20, TerminalWidth() - std::min<size_t>(TerminalWidth(), 90));
  for (const TopRow& row : model.rows) {
    table.push_back({std::to_string(row.pid), row.user, std::to_string(row.device), Percent(row.share),
                     Bar(row.share, 10), control::FormatPercentage(row.percentage) + "%", Bytes(row.used_bytes),
                     row.limit_bytes ? Bytes(*row.limit_bytes) : "-", Count(row.launches_per_second),
                     Shortened(row.command, room), row.kernel});
  }
  return text + Table(table, {0, 2, 3, 5, 6, 7, 8});
}

}  // namespace tutti::cli
