#include "client/gate.h"

#include <pthread.h>

#include <cstdlib>

#include "client/session.h"

namespace tutti::client {
namespace {

void CloseAtExit() { Gate::Close(cuda::CUDA_ERROR_DEINITIALIZED); }
void CloseInChild() {
  Gate::Close(cuda::CUDA_ERROR_NOT_INITIALIZED);
  Session::AbandonInChild();
}

}  // namespace

// The exit handler is registered by the first cuInit. Handlers run in reverse order, so those of the program and of the CUDA
// runtime that were registered later still find a working library; what comes after ours is told DEINITIALIZED.
void Gate::Open() {
  static const bool once = [] {
    std::atexit(CloseAtExit);
    pthread_atfork(nullptr, nullptr, CloseInChild);
    return true;
  }();
  static_cast<void>(once);
  int expected = word_.load(std::memory_order_relaxed);
  while (!closed() && !word_.compare_exchange_weak(expected, expected & ~kStatusMask, std::memory_order_acq_rel)) {
  }
}

void Gate::Close(cuda::Result status) {
  closed_.store(true, std::memory_order_release);
  word_.store(status, std::memory_order_release);
}

void Gate::ReadEnvironment() {
  const char* trace = std::getenv("TUTTI_TRACE");
  if (trace != nullptr && *trace != '\0' && *trace != '0') word_.fetch_or(kTraceBit, std::memory_order_relaxed);
}

}  // namespace tutti::client
