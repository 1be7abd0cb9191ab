#include "server/fault_log.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>
#include <string_view>

#include "server/session.h"

namespace tutti::server {
namespace {

uint64_t UnixNs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

std::string Line(const ClientInfo& client, uint32_t device, const device::Fault& fault) {
  nlohmann::ordered_json line = {
      {"time_ns", UnixNs()},
      {"pid", client.pid},
      {"id", client.id},
      {"uid", client.uid},
      {"command", client.command_line},
      {"device", device},
      {"status", fault.status},
      {"report", fault.report},
  };
  if (!fault.kernel.empty()) line["kernel"] = fault.kernel;
  if (fault.has_block) line["block"] = fault.block;
  if (fault.has_thread) line["thread"] = fault.thread;
  if (fault.has_address) line["address"] = fault.address;
  if (fault.allocation_bytes != 0)
    line["allocation"] = {{"address", fault.allocation}, {"bytes", fault.allocation_bytes}};
  if (fault.ptx_line != 0) line["ptx_line"] = fault.ptx_line;
  if (!fault.source_file.empty()) line["source"] = {{"file", fault.source_file}, {"line", fault.source_line}};
  // Names come from clients: invalid UTF-8 in them is replaced.
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

void FaultLog::Add(const ClientInfo& client, uint32_t device, const device::Fault& fault) {
  std::string line = Line(client, device, fault);
  const std::lock_guard lock(mutex_);
  if (entries_.size() == kMost) RemoveOne();
  entries_.push_back({client.payer(), std::move(line)});
}

void FaultLog::RemoveOne() {
  std::map<std::string_view, size_t> lines;
  for (const Entry& entry : entries_) ++lines[entry.party];
  const size_t most = std::ranges::max(std::views::values(lines));
  entries_.erase(std::ranges::find_if(entries_, [&](const Entry& entry) { return lines[entry.party] == most; }));
}

std::string FaultLog::Lines() const {
  const std::lock_guard lock(mutex_);
  std::string all;
  for (const Entry& entry : entries_) all += entry.line;
  return all;
}

}  // namespace tutti::server
