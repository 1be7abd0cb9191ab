// tutti recommend: watches the clients for a while and recommends how many a device should have.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cli/format.h"
#include "cli/report.h"
#include "cli/subcommands.h"
#include "cli/values.h"
#include "sharing/recommendation.h"

namespace tutti::cli {
namespace {

using Json = nlohmann::ordered_json;

// A client, over all samples.
struct Watched {
  std::string uuid;
  uint64_t first_busy_ns = 0, last_busy_ns = 0;
  uint64_t first_wait_ns = 0, last_wait_ns = 0;
  uint64_t memory_bytes = 0;
};

struct Devices {
  std::map<std::string, DeviceReport> by_uuid;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Watched> clients;  // by server, client and device
};

uint64_t Counter(const ClientReport& client, const char* name, uint64_t otherwise) {
  const auto found = client.counters.find(name);
  return found == client.counters.end() ? otherwise : found->second;
}

void Look(const Report& report, Devices& devices) {
  for (const ServerReport& server : report.servers) {
    for (const DeviceReport& device : server.devices) devices.by_uuid[device.uuid] = device;
    for (const ClientReport& client : server.clients) {
      if (client.device >= server.devices.size()) continue;
      const uint64_t busy = Counter(client, "device_ns", client.busy_ns), wait = Counter(client, "queue_wait_ns", 0);
      const auto [entry, fresh] =
          devices.clients.try_emplace({server.pid, client.id, client.device},
                                      Watched{server.devices[client.device].uuid, busy, busy, wait, wait, 0});
      entry->second.last_busy_ns = busy;
      entry->second.last_wait_ns = wait;
      entry->second.memory_bytes =
          std::max({entry->second.memory_bytes, client.used_bytes, Counter(client, "memory_peak_bytes", 0)});
    }
  }
}

sharing::Recommendation Of(const DeviceReport& device, const Devices& devices, double seconds) {
  std::vector<sharing::ClientUse> uses;
  for (const auto& [key, client] : devices.clients) {
    if (client.uuid != device.uuid) continue;
    const auto busy_ns = static_cast<double>(client.last_busy_ns - std::min(client.first_busy_ns, client.last_busy_ns));
    const auto wait_ns = static_cast<double>(client.last_wait_ns - std::min(client.first_wait_ns, client.last_wait_ns));
    // Device time is summed over SMs.
    uses.push_back({busy_ns / 1e9 / seconds / std::max(1u, device.sm_count), client.memory_bytes,
                    wait_ns > busy_ns && busy_ns > 0});
  }
  return sharing::Recommend(device.total_bytes, uses);
}

Json AsJson(const DeviceReport& device, const sharing::Recommendation& result) {
  return {{"uuid", device.uuid},
          {"clients", result.clients},
          {"by_memory", result.by_memory},
          {"by_compute", result.by_compute},
          {"utilisation", result.utilisation},
          {"wasted_memory_bytes", result.wasted_memory_bytes},
          {"cost_efficiency", result.cost_efficiency},
          {"reason", result.reason}};
}

Status Recommend(int seconds, bool json) {
  TUTTI_ASSIGN(auto daemon, control::DaemonConnection::Open(control::PlacesFromEnvironment()));
  Devices devices;
  const auto begin = std::chrono::steady_clock::now();
  for (int look = 0; look <= seconds * 4; ++look) {
    if (look > 0) usleep(250'000);
    TUTTI_ASSIGN(const Report report, FetchReport(daemon));
    Look(report, devices);
  }
  const double watched = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows = {{"DEVICE", "CLIENTS", "BUSY", "UNUSED MEMORY", "EFFICIENCY", "REASON"}};
  for (const auto& [uuid, device] : devices.by_uuid) {
    const sharing::Recommendation result = Of(device, devices, watched);
    list.push_back(AsJson(device, result));
    rows.push_back({uuid.substr(0, 22), result.clients > 0 ? std::to_string(result.clients) : "-",
                    Percent(result.utilisation), Bytes(static_cast<uint64_t>(result.wasted_memory_bytes)),
                    Percent(result.cost_efficiency), result.reason});
  }
  if (json)
    std::fputs((list.dump(2) + "\n").c_str(), stdout);
  else if (devices.by_uuid.empty())
    std::puts("no device is served yet: run the programs first");
  else
    std::fputs(Table(rows, {1, 2, 3, 4}).c_str(), stdout);
  return {};
}

}  // namespace

void AddRecommend(Command& tutti) {
  struct Options {
    int seconds = 5;
    bool json = false;
  };
  Command& recommend = tutti.AddCommand("recommend", "Watch the clients and recommend how many a device should have");
  const auto options = std::make_shared<Options>();
  recommend.AddOption("--seconds", &options->seconds, "Seconds to watch").Check(Between(1, 3600)).ShowDefault();
  recommend.AddFlag("--json", &options->json, "As JSON");
  recommend.Do([options] { return ExitStatus(Recommend(options->seconds, options->json)); });
}

}  // namespace tutti::cli
