#include "kubernetes/entitlement.h"

#include <fmt/format.h>

#include <charconv>

#include "kubernetes/allocation.h"
#include "sharing/quantity.h"

namespace tutti::kubernetes {
namespace {

constexpr uint64_t kMiB = 1 << 20;

struct Use {
  double percentage = 0;
  double memory_bytes = 0;
};

// The container's own annotation, else its pod's.
const std::string* Annotation(const PodContainer& container, const std::string& what) {
  for (const std::string& key : {fmt::format("tutti.dev/{}.{}", what, container.container), "tutti.dev/" + what}) {
    const auto found = container.annotations.find(key);
    if (found != container.annotations.end()) return &found->second;
  }
  return nullptr;
}

Result<double> ReadThreads(const std::string& text) {
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent, std::chars_format::fixed);
  if (error != std::errc{} || end != text.data() + text.size() || !(percent > 0 && percent <= 100)) {
    return Fail(
        fmt::format("tutti.dev/threads \"{}\" must be a percentage above 0 and at most 100", text.substr(0, 40)));
  }
  return percent;
}

Result<uint64_t> ReadMemory(const std::string& text, const sharing::DeviceFacts& device) {
  TUTTI_ASSIGN(const uint64_t bytes, sharing::ParseBytes(text));
  if (bytes < kMiB || bytes > device.total_bytes) {
    return Fail(fmt::format("tutti.dev/memory \"{}\" must be from 1Mi to the device's {} MiB", text.substr(0, 40),
                            device.total_bytes / kMiB));
  }
  return bytes / kMiB * kMiB;
}

Result<Entitlement> Wanted(const PodContainer& holder, const sharing::DeviceFacts& device, Entitlement base) {
  if (const std::string* threads = Annotation(holder, "threads")) {
    TUTTI_ASSIGN(base.percentage, ReadThreads(*threads));
    base.asked = true;
  }
  if (const std::string* memory = Annotation(holder, "memory")) {
    TUTTI_ASSIGN(base.memory_bytes, ReadMemory(*memory, device));
    base.asked = true;
  }
  return base;
}

// The size of the holder's replicas, by device.
std::map<size_t, Entitlement> Bases(std::span<const sharing::Offer> offers,
                                    std::span<const sharing::DeviceFacts> devices, const PodContainer& holder) {
  std::map<size_t, Entitlement> bases;
  for (const sharing::Offer& offer : offers) {
    std::vector<std::string> ids;
    for (const HeldDevice& held : holder.devices) {
      if (held.resource == offer.resource) ids.push_back(held.id);
    }
    for (const DeviceLimit& limit : LimitsOf(offer, devices, ids))
      bases[limit.device] = {limit.percentage, limit.memory_bytes, false};
  }
  return bases;
}

Status FindRoom(const sharing::Config& config, const sharing::DeviceFacts& device, const Use& use,
                const Entitlement& base, const Entitlement& wanted) {
  const double threads = use.percentage - base.percentage.value_or(0) + wanted.percentage.value_or(0);
  const double memory = use.memory_bytes + static_cast<double>(wanted.memory_bytes.value_or(0)) -
                        static_cast<double>(base.memory_bytes.value_or(0));
  const double all_threads = 100 * config.extension.oversubscribe_threads;
  const double all_memory = static_cast<double>(device.total_bytes) * config.extension.oversubscribe_memory;
  if (threads > all_threads + 0.01)
    return Fail(fmt::format("threads {:g}% are more than the {:g}% that {} has left", *wanted.percentage,
                            all_threads - threads + *wanted.percentage, device.uuid));
  if (memory > all_memory) {
    const double left = all_memory - memory + static_cast<double>(*wanted.memory_bytes);
    return Fail(fmt::format("memory of {} MiB is more than the {:.0f} MiB that {} has left",
                            *wanted.memory_bytes / kMiB, left / kMiB, device.uuid));
  }
  return {};
}

}  // namespace

Entitlements Entitle(const sharing::Config& config, std::span<const sharing::DeviceFacts> devices,
                     std::span<const PodContainer> holders) {
  Entitlements result;
  const auto offers = sharing::MakeOffers(config, devices);
  if (!offers) return result;
  std::map<size_t, Use> uses;
  std::vector<std::map<size_t, Entitlement>> bases;
  for (const PodContainer& holder : holders) {
    bases.push_back(Bases(*offers, devices, holder));
    for (const auto& [device, base] : bases.back()) {
      uses[device].percentage += base.percentage.value_or(0);
      uses[device].memory_bytes += static_cast<double>(base.memory_bytes.value_or(0));
    }
  }
  for (size_t i = 0; i < holders.size(); ++i) {
    const PodContainer& holder = holders[i];
    for (const auto& [device, base] : bases[i]) {
      Entitlement& granted = result.granted[{holder.space, holder.pod, holder.container, devices[device].uuid}] = base;
      if (!config.extension.annotations) continue;
      const auto wanted = Wanted(holder, devices[device], base);
      const Status room =
          wanted ? FindRoom(config, devices[device], uses[device], base, *wanted) : std::unexpected(wanted.error());
      if (!room) {
        result.refused.push_back(fmt::format("{}/{}, container {}: {}; it keeps the share of its replicas",
                                             holder.space, holder.pod, holder.container, room.error().text));
        continue;
      }
      granted = *wanted;
      uses[device].percentage += granted.percentage.value_or(0) - base.percentage.value_or(0);
      uses[device].memory_bytes +=
          static_cast<double>(granted.memory_bytes.value_or(0)) - static_cast<double>(base.memory_bytes.value_or(0));
    }
  }
  return result;
}

}  // namespace tutti::kubernetes
