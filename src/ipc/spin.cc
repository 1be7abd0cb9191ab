#include "ipc/spin.h"

#include <unistd.h>

#include <algorithm>

namespace tutti::ipc {
namespace {

constinit std::atomic<uint32_t> spinners{0};

uint32_t MostSpinners() {
  static const uint32_t most = static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN) / 2));
  return most;
}

}  // namespace

SpinBudget::SpinnerCount::SpinnerCount()
    : allowed_(spinners.fetch_add(1, std::memory_order_relaxed) < MostSpinners()) {}
SpinBudget::SpinnerCount::~SpinnerCount() { spinners.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace tutti::ipc
