#include "daemon/access/claim.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "control/client_table.h"
#include "control/object_values.h"
#include "control/words.h"
#include "cuda/result.h"

namespace tutti::daemon {
namespace {

// "threads=25" -> "25"
std::optional<std::string> ValueOf(const std::string& word, std::string_view key) {
  if (!word.starts_with(key) || word.size() <= key.size() || word[key.size()] != '=') return std::nullopt;
  return word.substr(key.size() + 1);
}

Status ReadOption(const std::string& word, Claim& claim) {
  if (const auto threads = ValueOf(word, "threads")) {
    TUTTI_ASSIGN(claim.active_thread_percentage, control::ParsePercentage(*threads));
    return {};
  }
  if (const auto memory = ValueOf(word, "memory")) {
    TUTTI_ASSIGN(claim.memory_limits, control::MemoryLimits::Parse(*memory));
    return {};
  }
  if (const auto partitions = ValueOf(word, "partitions")) {
    claim.partitions = control::SplitList(*partitions);
    return {};
  }
  return Fail(fmt::format(
      "\"{}\" is unknown: give threads=PERCENTAGE, memory=DEVICE=SIZE,... or partitions=PARTITION,...", word));
}

// `limits` with none above `bytes` on the device.
void Cap(std::vector<wire::MemoryLimit>& limits, uint32_t device, uint64_t bytes) {
  const auto limit = std::ranges::find(limits, device, &wire::MemoryLimit::device);
  if (limit == limits.end()) {
    limits.push_back({device, bytes});
  } else {
    limit->bytes = std::min(limit->bytes, bytes);
  }
}

}  // namespace

std::string Claim::Words() const {
  std::string words = fmt::format("claim add {} {}", name, fmt::join(devices, ","));
  if (active_thread_percentage) words += fmt::format(" threads={}", *active_thread_percentage);
  std::vector<std::string> memory;
  for (const auto& [device, bytes] : memory_limits.entries())
    memory.push_back(fmt::format("{}={}", device, control::FormatMemory(bytes)));
  if (!memory.empty()) words += fmt::format(" memory={}", fmt::join(memory, ","));
  if (!partitions.empty()) words += fmt::format(" partitions={}", fmt::join(partitions, ","));
  return words;
}

Result<Claim> ReadClaim(const std::vector<std::string>& words) {
  if (words.size() < 2)
    return Fail("a claim has a name and devices: claim add NAME DEVICE,... [threads=25] [memory=0=2G]");
  Claim claim{.name = words[0], .devices = control::SplitList(words[1])};
  TUTTI_TRY(control::CheckObjectName("claim", claim.name));
  for (const std::string& device : claim.devices) {
    if (!control::IsDeviceIdentifier(device))
      return Fail(fmt::format("device \"{}\" is neither an ordinal nor a UUID", device));
  }
  if (claim.devices.empty()) return Fail("a claim needs a device: give ordinals or UUIDs, as 0,1");
  for (size_t i = 2; i < words.size(); ++i) TUTTI_TRY(ReadOption(words[i], claim));
  return claim;
}

Status ApplyClaim(const Claim& claim, const std::vector<wire::ServedDevice>& devices, wire::Attach& attach) {
  control::MemoryLimits named;  // resolves devices by ordinal and by UUID
  for (const std::string& name : claim.devices) named.Set(name, 0);
  uint32_t granted = 0;
  for (uint32_t device = 0; device < devices.size(); ++device) {
    if (named.Of(device, control::FormatUuid(devices[device].uuid)) == 0) granted |= 1u << device;
  }
  if (granted == 0) {
    return Fail(cuda::CUDA_ERROR_NO_DEVICE, fmt::format("the claim {} is on {}, which this server does not have",
                                                        claim.name, fmt::join(claim.devices, ", ")));
  }
  attach.withheld_devices = ~granted;
  const std::string& partition = attach.hello.sm_partition;
  if (!partition.empty() && std::ranges::find(claim.partitions, partition) == claim.partitions.end()) {
    return Fail(cuda::CUDA_ERROR_NOT_PERMITTED,
                fmt::format("CUDA_MPS_SM_PARTITION=\"{}\" is not a partition of the claim {}", partition, claim.name));
  }
  // Stored as the client's own request, so that it still holds when the server's limits change.
  if (claim.active_thread_percentage) {
    attach.own_percentage = std::min(attach.own_percentage, *claim.active_thread_percentage);
    attach.active_thread_percentage = std::min(attach.active_thread_percentage, *claim.active_thread_percentage);
  }
  for (uint32_t device = 0; device < devices.size(); ++device) {
    const uint64_t bytes = claim.memory_limits.Of(device, control::FormatUuid(devices[device].uuid));
    if (bytes == control::kNoMemoryLimit) continue;
    Cap(attach.own_memory_limits, device, bytes);
    Cap(attach.memory_limits, device, bytes);
  }
  return {};
}

const Claim* ClaimTable::Find(const std::string& name) const {
  const auto found = claims_.find(name);
  return found != claims_.end() ? &found->second : nullptr;
}

}  // namespace tutti::daemon
