// The ends of the library's work in a process: exit, and, for a child, fork. Both close the gate.
#include <pthread.h>

#include "client/session/attachment.h"
#include "client/session/gate.h"
#include "client/session/printing.h"

namespace tutti::client {
namespace {

// Runs when the loader finalises the library, after the exit handlers and static destructors of the program and of a
// runtime linked into it, so those may still free what they hold. The library itself destroys nothing.
[[gnu::destructor]] void CloseAtExit() {
  if (Gate::status() != 0) return;
  DrainPrints();
  Gate::Close(cuda::CUDA_ERROR_DEINITIALIZED);
}

void CloseInChild() {
  Attachment::AbandonInChild();
  // If cuInit was never called, or failed, the child may call it.
  if (Gate::status() == 0 || Gate::opening()) Gate::Close(cuda::CUDA_ERROR_NOT_INITIALIZED);
}

// Runs before any call can take one of our locks.
[[gnu::constructor]] void WatchForks() { pthread_atfork(nullptr, nullptr, CloseInChild); }

}  // namespace
}  // namespace tutti::client
