#include "device/cpu/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/checked.h"
#include "device/cpu/schedule/space_share.h"
#include "os/memory_limit.h"
#include "wire/limits.h"

namespace tutti::device::cpu {
namespace {

constexpr uint32_t kMostNice = 19;
constexpr uint32_t kMostLoadedKernels = 16384;
constexpr uint64_t kLeastMemory = 64ull << 20;

uint64_t WholeMegabytes(uint64_t bytes) {
  constexpr uint64_t kGranularity = 1ull << 20;
  return bytes / kGranularity * kGranularity;
}

// Of the memory that this process can have without being killed for it, an eighth is for the server itself and the
// machine. An eighth is also the least: whoever gives the devices more than there is counts on their not being filled.
uint64_t LeftForHost(uint64_t memory_bytes, uint64_t device_bytes) {
  const uint64_t usable = memory_bytes - memory_bytes / 8;
  return WholeMegabytes(std::max(usable > device_bytes ? usable - device_bytes : 0, memory_bytes / 8));
}

Result<uint64_t> BytesFrom(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  const auto bytes = ParseBytes(text);
  if (!bytes || *bytes < kLeastMemory)
    return Fail(fmt::format("{}={}: expected bytes like 8G or 512M, at least 64M", name, text));
  return *bytes;
}

Result<uint32_t> CountFrom(const char* name, uint32_t otherwise, uint32_t limit, uint32_t least = 1) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  uint32_t value = 0;
  const std::string_view view = text;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc() || end != view.data() + view.size() || value < least || value > limit) {
    return Fail(fmt::format("{}={}: expected a number from {} to {}", name, text, least, limit));
  }
  return value;
}

Status SetComputeCapability(CpuSettings& settings) {
  const char* text = std::getenv("TUTTI_COMPUTE_CAPABILITY");
  if (text == nullptr || *text == '\0') return {};
  int32_t major = 0, minor = 0;
  const char* const end = text + std::strlen(text);
  const auto first = std::from_chars(text, end, major);
  const bool dot = first.ec == std::errc() && first.ptr != end && *first.ptr == '.';
  const auto second = dot ? std::from_chars(first.ptr + 1, end, minor) : first;
  if (!dot || second.ec != std::errc() || second.ptr != end || major < 5 || major > 99 || minor < 0 || minor > 9) {
    return Fail(fmt::format("TUTTI_COMPUTE_CAPABILITY={}: expected a version like 8.0", text));
  }
  settings.compute_major = major;
  settings.compute_minor = minor;
  return {};
}

}  // namespace

std::optional<uint64_t> ParseBytes(std::string_view text) {
  uint64_t value = 0;
  const char* const end = std::to_address(text.end());
  const auto [rest, error] = std::from_chars(std::to_address(text.begin()), end, value);
  if (error != std::errc() || value == 0) return std::nullopt;
  if (rest == end) return value;
  if (rest + 1 != end) return std::nullopt;
  switch (*rest) {
    case 'k':
    case 'K': return CheckedMul<uint64_t>(value, 1ull << 10);
    case 'm':
    case 'M': return CheckedMul<uint64_t>(value, 1ull << 20);
    case 'g':
    case 'G': return CheckedMul<uint64_t>(value, 1ull << 30);
    case 't':
    case 'T': return CheckedMul<uint64_t>(value, 1ull << 40);
  }
  return std::nullopt;
}

Result<CpuSettings> CpuSettings::FromEnvironment() {
  CpuSettings settings;
  TUTTI_ASSIGN(settings.devices, CountFrom("TUTTI_CPU_DEVICES", 1, wire::kMaxDevices));
  TUTTI_ASSIGN(settings.sms, CountFrom("TUTTI_CPU_SMS", settings.cores, kMaxSms));
  TUTTI_ASSIGN(settings.sm_group, CountFrom("TUTTI_CPU_SM_GROUP", settings.sm_group, settings.sms));
  TUTTI_ASSIGN(settings.nice, CountFrom("TUTTI_CPU_NICE", settings.nice, kMostNice, 0));
  TUTTI_ASSIGN(settings.loaded_kernels,
               CountFrom("TUTTI_CPU_LOADED_KERNELS", settings.loaded_kernels, kMostLoadedKernels));
  TUTTI_ASSIGN(const uint32_t reachable, CountFrom("TUTTI_CPU_REACHABLE", 1, 1, 0));
  settings.device_part_reachable = reachable != 0;
  const uint64_t memory_bytes = os::MemoryOfThisProcess();
  TUTTI_ASSIGN(settings.memory_bytes, BytesFrom("TUTTI_CPU_MEMORY", WholeMegabytes(memory_bytes / 2)));
  TUTTI_ASSIGN(settings.host_bytes,
               BytesFrom("TUTTI_CPU_HOST_MEMORY", LeftForHost(memory_bytes, settings.devices * settings.memory_bytes)));
  settings.client_host_bytes = settings.host_bytes;
  TUTTI_TRY(SetComputeCapability(settings));
  return settings;
}

}  // namespace tutti::device::cpu
