// dcgm-exporter charges a shared GPU's values to every pod that holds a replica, or to none. Here a pod's series has
// the pod's own value, so the sum over pods is the device's; an idle replica has 0, and an unallocated device has one
// series without pod labels.
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "kubernetes/family.h"
#include "kubernetes/metrics_text.h"
#include "kubernetes/replica_id.h"

namespace tutti::kubernetes {
namespace {

struct Use {
  double share = 0;
  double used_bytes = 0;
};

// Namespace, pod and container.
using Name = std::tuple<std::string, std::string, std::string>;

struct Device {
  control::DeviceReport facts;
  std::map<Name, Use> by_container;  // processes outside of pods: empty name
};

std::map<std::string, Device> Gather(const Measured& measured) {
  std::map<std::string, Device> devices;
  size_t index = 0;
  for (const control::ServerReport& server : measured.report->servers) {
    for (const control::DeviceReport& device : server.devices) devices[device.uuid].facts = device;
    for (const control::ClientReport& client : server.clients) {
      const PodContainer owner =
          index < measured.owners.size() ? measured.owners[index].value_or(PodContainer{}) : PodContainer{};
      ++index;
      if (client.device >= server.devices.size()) continue;
      Use& use = devices[server.devices[client.device].uuid].by_container[{owner.space, owner.pod, owner.container}];
      use.share += client.share;
      use.used_bytes += static_cast<double>(client.used_bytes);
    }
  }
  return devices;
}

Labels DeviceLabels(const control::DeviceReport& device, const std::string& host) {
  return {{"gpu", std::to_string(device.ordinal)},
          {"UUID", device.uuid},
          {"pci_bus_id", device.pci},
          {"device", fmt::format("nvidia{}", device.ordinal)},
          {"modelName", device.name},
          {"Hostname", host},
          {"DCGM_FI_DRIVER_VERSION", TUTTI_VERSION}};
}

struct Series {
  Labels labels;
  Use use;
};

// One series per replica of a container; the first carries the container's values.
std::vector<Series> SeriesOf(const Device& device, const Measured& measured) {
  std::vector<Series> series;
  std::map<Name, Use> rest = device.by_container;
  for (const PodContainer& holder : measured.holders) {
    for (const HeldDevice& held : holder.devices) {
      const ReplicaId parsed = ReplicaId::Parse(held.id);
      if (parsed.uuid != device.facts.uuid) continue;
      Labels labels = DeviceLabels(device.facts, measured.host);
      labels.insert(labels.end(), {{"container", holder.container}, {"namespace", holder.space}, {"pod", holder.pod}});
      if (parsed.replica) labels.emplace_back("vgpu", std::to_string(*parsed.replica));
      const auto found = rest.find({holder.space, holder.pod, holder.container});
      series.push_back({std::move(labels), found == rest.end() ? Use{} : found->second});
      if (found != rest.end()) rest.erase(found);
    }
  }
  Use outside;
  for (const auto& [name, use] : rest) {
    outside.share += use.share;
    outside.used_bytes += use.used_bytes;
  }
  if (series.empty() || !rest.empty()) series.push_back({DeviceLabels(device.facts, measured.host), outside});
  return series;
}

}  // namespace

std::vector<prometheus::MetricFamily> DcgmFamilies(const Measured& measured) {
  if (!measured.report) return {};
  constexpr double kMiB = 1 << 20;
  Family utilisation("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).");
  Family used("DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB).");
  Family free("DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB).");
  Family total("DCGM_FI_DEV_FB_TOTAL", "Framebuffer memory of the GPU (in MiB).");
  Family reserved("DCGM_FI_DEV_FB_RESERVED", "Framebuffer memory reserved by the driver (in MiB).");
  Family active("DCGM_FI_PROF_SM_ACTIVE", "The ratio of cycles an SM has at least 1 warp assigned.");
  Family engine("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "Ratio of time the graphics engine is active.");
  for (const auto& [uuid, device] : Gather(measured)) {
    double all_used = 0;
    for (const auto& [name, use] : device.by_container) all_used += use.used_bytes;
    const double all = static_cast<double>(device.facts.total_bytes);
    for (const Series& series : SeriesOf(device, measured)) {
      utilisation.Add(series.labels, series.use.share * 100);
      used.Add(series.labels, series.use.used_bytes / kMiB);
      free.Add(series.labels, (all - all_used) / kMiB);
      total.Add(series.labels, all / kMiB);
      reserved.Add(series.labels, 0);
      active.Add(series.labels, series.use.share);
      engine.Add(series.labels, series.use.share);
    }
  }
  std::vector<prometheus::MetricFamily> out;
  for (Family* family : {&utilisation, &used, &free, &total, &reserved, &active, &engine})
    out.push_back(std::move(*family).Take());
  return out;
}

}  // namespace tutti::kubernetes
