#include "client/session/mps_environment.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>

#include "base/log.h"
#include "client/base/environment.h"
#include "wire/limit_text.h"
#include "wire/visible_devices.h"

namespace tutti::client {
namespace {

constexpr const char* kPercentage = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE";
constexpr const char* kMemory = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT";
constexpr const char* kPriority = "CUDA_MPS_CLIENT_PRIORITY";
constexpr const char* kPerContext = "CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING";

constinit std::atomic<bool> per_context{false};

// The text if `parse` accepts it, else nothing and a line in the log.
template <typename T>
std::string Readable(const char* name, Result<T> (*parse)(std::string_view), std::string_view instead) {
  std::string text = Environment(name);
  if (text.empty()) return text;
  const auto value = parse(text);
  if (value) return text;
  log::Warning("{}=\"{}\" is not used, {} instead: {}", name, text, instead, value.error().text);
  return {};
}

bool ReadPerContext() {
  const std::string text = Environment(kPerContext);
  if (!text.empty() && text != "0" && text != "1") {
    log::Warning("{}=\"{}\" is not used, 0 instead: it is 0 or 1", kPerContext, text);
  }
  return text == "1";
}

}  // namespace

void AskForLimits(wire::Hello* hello) {
  per_context.store(ReadPerContext(), std::memory_order_relaxed);
  if (!PercentagePerContext()) {
    hello->active_thread_percentage = Readable(kPercentage, wire::ParsePercentage, "the server's percentage");
  }
  hello->pinned_memory_limit = Readable(kMemory, wire::MemoryLimits::Parse, "the server's limits");
  hello->client_priority = Readable(kPriority, wire::ParsePriority, "the server's default");
  hello->sm_partition = Environment("CUDA_MPS_SM_PARTITION");
}

void CheckMemoryLimits(const wire::ChannelHeader& header) {
  const auto limits = wire::MemoryLimits::Parse(Environment(kMemory));
  if (!limits) return;
  std::vector<std::string> uuids;
  for (uint32_t i = 0; i < std::min(header.device_count, wire::kMaxDevices); ++i) {
    uuids.push_back(wire::UuidText(header.devices[i].uuid));
  }
  for (uint32_t i = 0; i < uuids.size(); ++i) {
    const uint64_t wanted = limits->Of(i, uuids[i]),
                   given = header.states[i].limit_bytes.load(std::memory_order_relaxed);
    if (wanted == wire::kNoMemoryLimit || wanted <= given) continue;
    log::Warning("{} asks for {} on device {}, the server's limit of {} holds", kMemory, wire::FormatMemory(wanted), i,
                 wire::FormatMemory(given));
  }
  for (const std::string& unknown : limits->Unknown(uuids)) {
    log::Warning("{}: \"{}\" is none of the {} devices here, its limit is ignored", kMemory, unknown, uuids.size());
  }
}

bool PercentagePerContext() { return per_context.load(std::memory_order_relaxed); }

double ContextPercentage() {
  const std::string text = Readable(kPercentage, wire::ParsePercentage, "100");
  return text.empty() ? 100 : wire::ParsePercentage(text).value_or(100);
}

}  // namespace tutti::client
