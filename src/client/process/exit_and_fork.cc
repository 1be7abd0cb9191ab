// What ends the library's work in a process: its exit, and for a child being forked. Both close the gate.
#include <pthread.h>

#include "client/session/attachment.h"
#include "client/session/gate.h"
#include "client/session/printing.h"

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
  Attachment::AbandonInChild();
  // Where cuInit was never called, or failed, the child may try.
  if (Gate::status() == 0 || Gate::opening()) Gate::Close(cuda::CUDA_ERROR_NOT_INITIALIZED);
}

// Before any call can take a lock of ours.
[[gnu::constructor]] void WatchForks() { pthread_atfork(nullptr, nullptr, CloseInChild); }

}  // namespace
}  // namespace tutti::client
