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

SpinBudget::SpinnerCount::SpinnerCount()
    : allowed_(spinners.fetch_add(1, std::memory_order_relaxed) < MostSpinners()) {}
SpinBudget::SpinnerCount::~SpinnerCount() { spinners.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace tutti::ipc
