#include "ipc/spin.h"

#include <algorithm>

#include "os/cores.h"

namespace tutti::ipc {
namespace {

constinit std::atomic<uint32_t> spinners{0};

uint32_t MostSpinners() {
  static const uint32_t most = std::max(1u, os::CoresOfThisProcess() / 2);
  return most;
}

}  // namespace

void SpinBudget::Paid(uint64_t budget_ns) {
  if (tries_.exchange(false, std::memory_order_relaxed)) waits_between_.store(kLeastWaits, std::memory_order_relaxed);
  if (budget_ns < kMaxNs) budget_ns_.store(std::min(budget_ns * 2, kMaxNs), std::memory_order_relaxed);
}

void SpinBudget::WasInVain(uint64_t budget_ns) {
  if (!tries_.exchange(false, std::memory_order_relaxed)) {
    budget_ns_.store(std::max(budget_ns / 2, kMinNs), std::memory_order_relaxed);
    return;
  }
  const uint32_t waits = waits_between_.load(std::memory_order_relaxed);
  waits_left_.store(waits, std::memory_order_relaxed);
  waits_between_.store(std::min(waits * 2, kMostWaits), std::memory_order_relaxed);
  budget_ns_.store(kMinNs, std::memory_order_relaxed);
}

void SpinBudget::Slept(uint64_t ns) {
  if (2 * ns > kMaxNs || 2 * ns <= budget_ns()) return;
  if (const uint32_t left = waits_left_.load(std::memory_order_relaxed); left != 0) {
    waits_left_.store(left - 1, std::memory_order_relaxed);
    return;
  }
  budget_ns_.store(2 * ns, std::memory_order_relaxed);
  tries_.store(true, std::memory_order_relaxed);
}

SpinBudget::SpinnerCount::SpinnerCount()
    : allowed_(spinners.fetch_add(1, std::memory_order_relaxed) < MostSpinners()) {}
SpinBudget::SpinnerCount::~SpinnerCount() { spinners.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace tutti::ipc
