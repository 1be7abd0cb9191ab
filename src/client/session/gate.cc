#include "client/session/gate.h"

#include "client/base/environment.h"

namespace tutti::client {

void Gate::Open() {
  int expected = word_.load(std::memory_order_relaxed);
  while (!closed() && !word_.compare_exchange_weak(expected, expected & ~kStatusMask, std::memory_order_acq_rel)) {
  }
}

void Gate::Close(cuda::Result status) {
  closed_.store(true, std::memory_order_release);
  word_.store(status, std::memory_order_release);
}

void Gate::ReadEnvironment() {
  const std::string trace = Environment("TUTTI_TRACE");
  if (!trace.empty() && !trace.starts_with('0')) word_.fetch_or(kTraceBit, std::memory_order_relaxed);
}

}  // namespace tutti::client
