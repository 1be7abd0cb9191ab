#include "client/gate.h"

#include <pthread.h>

#include "client/environment.h"
#include "client/printing.h"
#include "client/session.h"

namespace tutti::client {
namespace {

// Runs when the loader finalises the library, so after the exit handlers and static destructors of the program and of
// the runtime that is linked into it: those may still free what they hold. The library itself destroys nothing.
[[gnu::destructor]] void CloseAtExit() {
  if (Gate::status() != 0) return;
  DrainPrints();
  Gate::Close(cuda::CUDA_ERROR_DEINITIALIZED);
}

void CloseInChild() {
  Session::AbandonInChild();
  // Where cuInit was never called, or failed, the child may try.
  if (Gate::status() == 0 || Gate::opening()) Gate::Close(cuda::CUDA_ERROR_NOT_INITIALIZED);
}

// Before any call can take a lock of ours.
[[gnu::constructor]] void WatchForks() { pthread_atfork(nullptr, nullptr, CloseInChild); }

}  // namespace

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
