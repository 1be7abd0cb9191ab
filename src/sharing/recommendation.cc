#include "sharing/recommendation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sharing/replication.h"

namespace tutti::sharing {
namespace {

constexpr double kTargetUtilisation = 0.9;

}  // namespace

Recommendation Recommend(uint64_t total_bytes, std::span<const ClientUse> clients) {
  Recommendation result;
  uint64_t largest = 0, held = 0;
  int64_t waiting = 0;
  for (const ClientUse& client : clients) {
    largest = std::max(largest, client.memory_bytes);
    held += client.memory_bytes;
    result.utilisation += client.busy;
    waiting += client.waited ? 1 : 0;
  }
  const auto total = static_cast<double>(total_bytes);
  result.wasted_memory_bytes = total - static_cast<double>(std::min(held, total_bytes));
  if (total_bytes > 0)
    result.cost_efficiency = std::max(std::min(1.0, result.utilisation), static_cast<double>(held) / total);
  if (clients.empty()) {
    result.reason = "no client uses the device: nothing to go by";
    return result;
  }
  const auto count = static_cast<int64_t>(clients.size());
  const double average = result.utilisation / static_cast<double>(count);
  result.by_memory = largest == 0 ? kMaxReplicas : static_cast<int64_t>(total_bytes / largest);
  result.by_compute =
      average < 1e-6 ? kMaxReplicas : static_cast<int64_t>(std::floor(kTargetUtilisation / average + 1e-9));
  if (waiting > 0) result.by_compute = std::min(result.by_compute, count);
  result.clients = std::clamp<int64_t>(std::min(result.by_memory, result.by_compute), 1, kMaxReplicas);
  const int64_t limit = std::min(result.by_memory, result.by_compute);
  if (limit >= kMaxReplicas)
    result.reason = fmt::format("neither memory nor compute is a limit below {}", kMaxReplicas);
  else if (result.by_memory < result.by_compute)
    result.reason = fmt::format("memory: the largest client holds {} MiB of {}", largest >> 20, total_bytes >> 20);
  else if (waiting > 0)
    result.reason = fmt::format("compute: {} of {} clients wait for longer than they run", waiting, count);
  else
    result.reason = fmt::format("compute: a client is busy {:.0f}% of the time", average * 100);
  return result;
}

}  // namespace tutti::sharing
