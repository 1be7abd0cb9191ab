#include <fmt/format.h>

#include <map>

#include "kubernetes/family.h"
#include "kubernetes/metrics_text.h"
#include "kubernetes/replica_id.h"

namespace tutti::kubernetes {
namespace {

struct CounterRow {
  const char* name;
  bool grows;
  std::string_view unit;
  const char* help;
};

constexpr bool kCounter = true;
constexpr bool kGauge = false;
constexpr CounterRow kCounters[] = {
#define TUTTI_COUNTER(name, kind, unit, help) {#name, kind, unit, help},
#include "metrics/counters.def"
#undef TUTTI_COUNTER
};

// "queue_wait_ns", which grows: "tutti_client_queue_wait_seconds_total".
std::string FamilyName(const CounterRow& row) {
  std::string name = row.name;
  if (row.unit == "ns") name = name.substr(0, name.size() - 3) + "_seconds";
  return fmt::format("tutti_client_{}{}", name, row.grows ? "_total" : "");
}

std::string VirtualGpu(const PodContainer& owner, const std::string& uuid) {
  for (const HeldDevice& held : owner.devices) {
    const ReplicaId parsed = ReplicaId::Parse(held.id);
    if (parsed.uuid == uuid && parsed.replica) return std::to_string(*parsed.replica);
  }
  return "";
}

struct Client {
  const control::ClientReport* client;
  Labels labels;
};

std::vector<Client> ClientsOf(const Measured& measured) {
  std::vector<Client> clients;
  size_t index = 0;
  for (const control::ServerReport& server : measured.report->servers) {
    for (const control::ClientReport& client : server.clients) {
      const std::string uuid = client.device < server.devices.size() ? server.devices[client.device].uuid : "";
      const PodContainer owner =
          index < measured.owners.size() ? measured.owners[index].value_or(PodContainer{}) : PodContainer{};
      ++index;
      clients.push_back({&client,
                         {{"UUID", uuid},
                          {"gpu", std::to_string(client.device)},
                          {"pid", std::to_string(client.pid)},
                          {"client", fmt::format("{}-{}", server.pid, client.id)},
                          {"uid", std::to_string(client.uid)},
                          {"namespace", owner.space},
                          {"pod", owner.pod},
                          {"pod_uid", owner.pod_uid},
                          {"container", owner.container},
                          {"vgpu", VirtualGpu(owner, uuid)}}});
    }
  }
  return clients;
}

void AddClients(const Measured& measured, std::vector<prometheus::MetricFamily>& out) {
  const std::vector<Client> clients = ClientsOf(measured);
  for (const CounterRow& row : kCounters) {
    Family family(FamilyName(row), row.help);
    for (const Client& client : clients) {
      const auto found = client.client->counters.find(row.name);
      if (found == client.client->counters.end()) continue;
      family.Add(client.labels, static_cast<double>(found->second) / (row.unit == "ns" ? 1e9 : 1));
    }
    if (!family.empty()) out.push_back(std::move(family).Take());
  }
  Family asked("tutti_client_active_thread_ratio",
               "part of the device it may use: the percentage in force, as a ratio");
  Family got("tutti_client_device_ratio", "part of the device's time it has had lately");
  Family limit("tutti_client_memory_limit_bytes", "device memory it may hold");
  Family used("tutti_client_memory_used_bytes", "device memory it holds");
  Family faulted("tutti_client_faulted", "1 if it has had a fault that it does not recover from");
  for (const Client& client : clients) {
    asked.Add(client.labels, client.client->percentage / 100);
    got.Add(client.labels, client.client->share);
    used.Add(client.labels, static_cast<double>(client.client->used_bytes));
    if (client.client->limit_bytes) limit.Add(client.labels, static_cast<double>(*client.client->limit_bytes));
    faulted.Add(client.labels, client.client->state == "FAULT" ? 1 : 0);
  }
  for (Family* family : {&asked, &got, &limit, &used, &faulted}) out.push_back(std::move(*family).Take());
}

struct DeviceSum {
  const control::DeviceReport* device;
  double used = 0;
  double share = 0;
  size_t clients = 0;
};

void AddDevices(const Measured& measured, std::vector<prometheus::MetricFamily>& out) {
  std::map<std::string, DeviceSum> sums;
  for (const control::ServerReport& server : measured.report->servers) {
    for (const control::DeviceReport& device : server.devices) sums[device.uuid].device = &device;
    for (const control::ClientReport& client : server.clients) {
      if (client.device >= server.devices.size()) continue;
      DeviceSum& sum = sums[server.devices[client.device].uuid];
      sum.used += static_cast<double>(client.used_bytes);
      sum.share += client.share;
      ++sum.clients;
    }
  }
  Family info("tutti_device_info", "what the device is; always 1");
  Family memory("tutti_device_memory_bytes", "memory of the device");
  Family used("tutti_device_memory_used_bytes", "memory its clients hold");
  Family busy("tutti_device_busy_ratio", "part of the device's recent time that its clients have used");
  Family clients("tutti_device_clients", "clients that have it open");
  for (const auto& [uuid, sum] : sums) {
    const Labels labels = {{"UUID", uuid}, {"gpu", std::to_string(sum.device->ordinal)}};
    info.Add({{"UUID", uuid},
              {"gpu", std::to_string(sum.device->ordinal)},
              {"modelName", sum.device->name},
              {"compute_capability", sum.device->compute_capability},
              {"sm_count", std::to_string(sum.device->sm_count)}},
             1);
    memory.Add(labels, static_cast<double>(sum.device->total_bytes));
    used.Add(labels, sum.used);
    busy.Add(labels, sum.share);
    clients.Add(labels, static_cast<double>(sum.clients));
  }
  for (Family* family : {&info, &memory, &used, &busy, &clients}) out.push_back(std::move(*family).Take());
}

}  // namespace

std::vector<prometheus::MetricFamily> OwnFamilies(const Measured& measured) {
  std::vector<prometheus::MetricFamily> out;
  Family build("tutti_build_info", "always 1");
  build.Add({{"version", TUTTI_VERSION}}, 1);
  out.push_back(std::move(build).Take());
  Family up("tutti_daemon_up", "1 if the control daemon answers");
  up.Add({}, measured.report ? 1 : 0);
  out.push_back(std::move(up).Take());
  if (measured.daemon_starts > 0) {
    Family starts("tutti_daemon_starts_total",
                  "control daemons that the device plugin has had; all but the first are restarts");
    starts.Add({}, static_cast<double>(measured.daemon_starts));
    out.push_back(std::move(starts).Take());
  }
  if (!measured.report) return out;
  Family servers("tutti_server_up", "1 if the user's server serves");
  for (const control::ServerReport& server : measured.report->servers) {
    servers.Add({{"uid", std::to_string(server.uid)}, {"pid", std::to_string(server.pid)}},
                server.error.empty() ? 1 : 0);
  }
  out.push_back(std::move(servers).Take());
  AddDevices(measured, out);
  AddClients(measured, out);
  return out;
}

}  // namespace tutti::kubernetes
