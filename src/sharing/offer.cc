#include "sharing/offer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace tutti::sharing {
namespace {

constexpr uint64_t kMiB = 1 << 20;

Portion EqualPortion(const Config& config, const DeviceFacts& device, int64_t replicas) {
  const Extension& extension = config.extension;
  Portion portion{.replicas = replicas, .percentage = {}, .memory_bytes = {}};
  // Time slices have no size limit; a single replica gets the whole device.
  if (config.strategy != Strategy::kMps || replicas == 1) return portion;
  if (extension.throttle)
    portion.percentage = std::min(100.0, std::floor(100.0 / replicas) * extension.oversubscribe_threads);
  const double bytes = static_cast<double>(device.total_bytes / replicas) * extension.oversubscribe_memory;
  portion.memory_bytes = std::min(static_cast<uint64_t>(bytes), device.total_bytes) / kMiB * kMiB;
  // A device of unknown memory size cannot be divided.
  if (*portion.memory_bytes == 0) portion.memory_bytes.reset();
  return portion;
}

Portion PortionOf(const Share& share, const DeviceFacts& device) {
  const auto by_threads = static_cast<uint64_t>(static_cast<double>(device.total_bytes) * share.threads / 100);
  return {share.replicas, share.threads, share.memory_bytes.value_or(by_threads) / kMiB * kMiB};
}

int64_t ReplicasOn(const Config& config, const ReplicatedResource& resource, const DeviceFacts& device) {
  if (!config.node_template) return resource.replicas;
  for (const auto& [name, clients] : config.node_template->clients_by_gpu) {
    if (GpuNameKey(name) == GpuNameKey(device.name)) return clients;
  }
  return resource.replicas;
}

Status CheckSum(const Config& config, std::span<const Offer> offers, size_t index, const DeviceFacts& device) {
  double percentage = 0, memory = 0;
  for (const Offer& offer : offers) {
    const Portion& portion = offer.portions[index];
    percentage += portion.percentage.value_or(0) * static_cast<double>(portion.replicas);
    memory += static_cast<double>(portion.memory_bytes.value_or(0)) * static_cast<double>(portion.replicas);
  }
  const Extension& extension = config.extension;
  if (extension.throttle && percentage > 100 * extension.oversubscribe_threads + 0.01) {
    return Fail(fmt::format(
        "the shares of {} ask for {:g}% of its threads: make them smaller, or raise tutti.oversubscription.threads",
        device.uuid, percentage));
  }
  if (memory > static_cast<double>(device.total_bytes) * extension.oversubscribe_memory) {
    return Fail(fmt::format(
        "the shares of {} ask for {:.0f} MiB of its {} MiB: make them smaller, or raise tutti.oversubscription.memory",
        device.uuid, memory / kMiB, device.total_bytes / kMiB));
  }
  return {};
}

}  // namespace

std::string GpuNameKey(std::string_view name) {
  std::string key;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!key.empty() && key.back() != '-') {
      key += '-';
    }
  }
  if (key.ends_with('-')) key.pop_back();
  if (key.starts_with("nvidia-")) key.erase(0, 7);
  return key;
}

bool SharesVary(const Config& config) {
  const Extension& extension = config.extension;
  return config.strategy == Strategy::kMps &&
         (!extension.shares.empty() || extension.annotations || !config.replication.fail_requests_greater_than_one);
}

Result<std::vector<Offer>> MakeOffers(const Config& config, std::span<const DeviceFacts> devices) {
  std::vector<Offer> offers;
  for (const ReplicatedResource& resource : config.replication.resources) {
    Offer offer{
        .resource = resource.rename.empty() ? resource.name : resource.rename, .portions = {}, .replicated = true};
    for (const DeviceFacts& device : devices)
      offer.portions.push_back(EqualPortion(config, device, ReplicasOn(config, resource, device)));
    offers.push_back(std::move(offer));
  }
  for (const Share& share : config.extension.shares) {
    Offer offer{.resource = share.resource, .portions = {}, .replicated = true};
    for (const DeviceFacts& device : devices) offer.portions.push_back(PortionOf(share, device));
    offers.push_back(std::move(offer));
  }
  if (offers.empty()) offers.push_back({"nvidia.com/gpu", std::vector<Portion>(devices.size()), false});
  if (!config.extension.shares.empty()) {
    for (size_t i = 0; i < devices.size(); ++i) TUTTI_TRY(CheckSum(config, offers, i, devices[i]));
  }
  return offers;
}

}  // namespace tutti::sharing
