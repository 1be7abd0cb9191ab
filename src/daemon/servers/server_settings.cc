#include "daemon/servers/server_settings.h"

#include <algorithm>

#include "base/log.h"
#include "base/log_budget.h"
#include "control/client_table.h"
#include "control/words.h"
#include "os/program.h"

namespace tutti::daemon {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;

// The value if `text` is set and readable. Clients can cause any number of these log lines.
template <typename T>
T ReadOr(std::string_view text, Result<T> (*parse)(std::string_view), T otherwise, const std::string& whose) {
  static LogBudget lines;
  if (text.empty()) return otherwise;
  auto value = parse(text);
  if (value) return *std::move(value);
  lines.Info(whose, "{} ignored: {}", whose, value.error().text);
  return otherwise;
}

}  // namespace

Defaults Defaults::FromEnvironment() {
  Defaults defaults;
  defaults.server.active_thread_percentage =
      ReadOr(os::Environment("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), control::ParsePercentage, 100.0,
             "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE of this daemon");
  defaults.server.memory_limits =
      ReadOr(os::Environment("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), control::MemoryLimits::Parse, control::MemoryLimits(),
             "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT of this daemon");
  defaults.client_priority = ReadOr(os::Environment("CUDA_MPS_CLIENT_PRIORITY"), control::ParsePriority, 0,
                                    "CUDA_MPS_CLIENT_PRIORITY of this daemon");
  if (const std::string text = os::Environment("TUTTI_KERNEL_TIME_MS"); !text.empty()) {
    const auto milliseconds = control::ParseNumber(text);
    if (milliseconds) defaults.kernel_ns = *milliseconds * kNsPerMs;
    if (!milliseconds)
      log::Warning("TUTTI_KERNEL_TIME_MS=\"{}\" is not a number of milliseconds: the daemon ignores it", text);
  }
  return defaults;
}

double EffectivePercentage(const ServerSettings& settings, double own_percentage) {
  if (settings.overrides_process) return settings.active_thread_percentage;
  return std::min(settings.active_thread_percentage, own_percentage);
}

wire::Attach EffectiveAttach(const wire::Hello& hello, const ServerSettings& settings, int default_priority,
                             const std::vector<wire::ServedDevice>& devices) {
  wire::Attach attach{.hello = hello};
  attach.own_percentage = ReadOr(hello.active_thread_percentage, control::ParsePercentage, 100.0,
                                 "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE of a client");
  attach.active_thread_percentage = EffectivePercentage(settings, attach.own_percentage);
  attach.priority =
      ReadOr(hello.client_priority, control::ParsePriority, default_priority, "CUDA_MPS_CLIENT_PRIORITY of a client");
  const auto asked = ReadOr(hello.pinned_memory_limit, control::MemoryLimits::Parse, control::MemoryLimits(),
                            "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT of a client");
  for (uint32_t ordinal = 0; ordinal < devices.size(); ++ordinal) {
    const std::string uuid = control::FormatUuid(devices[ordinal].uuid);
    const uint64_t own_bytes = asked.Of(ordinal, uuid);
    const uint64_t bytes = std::min(settings.memory_limits.Of(ordinal, uuid), own_bytes);
    if (own_bytes != control::kNoMemoryLimit) attach.own_memory_limits.push_back({ordinal, own_bytes});
    if (bytes != control::kNoMemoryLimit) attach.memory_limits.push_back({ordinal, bytes});
  }
  return attach;
}

}  // namespace tutti::daemon
