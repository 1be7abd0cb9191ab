#include "client/host_calls.h"

#include <pthread.h>
#include <signal.h>

#include <mutex>

#include "base/tsan.h"
#include "client/capture.h"
#include "client/session.h"
#include "os/futex.h"

namespace tutti::client {
namespace {

constexpr uint64_t kCheckServerNs = 500'000'000;

// One call on its way through the server, which hands its address back as the token.
struct Pending {
  cuda::CUhostFn function = nullptr;
  cuda::CUstreamCallback callback = nullptr;
  cuda::CUstream stream = nullptr;
  void* user = nullptr;
};

// A host function is not run after an error, a callback is told of it.
void Run(const wire::HostCall& call) {
  auto* const pending = reinterpret_cast<Pending*>(call.token);
  OrderedAfter(pending);  // by way of the server
  if (pending->callback != nullptr) {
    pending->callback(pending->stream, call.status, pending->user);
  } else if (call.status == 0) {
    pending->function(pending->user);
  }
  delete pending;
}

void* RunForEver(void* of) {
  Session& session = *static_cast<Session*>(of);
  wire::HostCallQueue& queue = session.channel().host_calls;
  for (;;) {
    const uint32_t produced = queue.produced.load(std::memory_order_acquire);
    const uint32_t consumed = queue.consumed.load(std::memory_order_relaxed);
    if (produced == consumed) {
      if (session.ended() != 0) return nullptr;
      if (!os::FutexWait(&queue.produced, produced, kCheckServerNs)) session.connection().watch().Check();
      continue;
    }
    const wire::HostCall call = queue.calls[consumed % wire::kHostCallSlots];
    queue.consumed.store(consumed + 1, std::memory_order_release);
    Run(call);
    session.ring().Submit(wire::RecordKind::kHostCallDone, call.stream);
  }
}

bool StartThread(Session* session) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, nullptr, RunForEver, session) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started) pthread_detach(thread);
  return started;
}

// Whether the current session has its thread.
bool Running() {
  static auto* const mutex = new std::mutex;
  static constinit Session* served = nullptr;
  std::lock_guard lock(*mutex);
  Session* const current = &Session::Get();
  if (served != current && StartThread(current)) served = current;
  return served == current;
}

int SubmitPending(Stream& stream, Pending* pending) {
  if (!Running()) {
    delete pending;
    return cuda::CUDA_ERROR_OUT_OF_MEMORY;
  }
  OrderedBefore(pending);
  stream.Submit(wire::RecordKind::kHostCall, wire::HostCallBody{.token = reinterpret_cast<uint64_t>(pending)});
  return cuda::CUDA_SUCCESS;
}

}  // namespace

int SubmitHostFunction(Stream& stream, cuda::CUhostFn function, void* user) {
  if (stream.capture() != nullptr) return Capture::Add(stream, HostWork{function, user});
  return SubmitPending(stream, new Pending{.function = function, .user = user});
}

int SubmitCallback(Stream& stream, cuda::CUstream handle, cuda::CUstreamCallback callback, void* user) {
  if (stream.capture() != nullptr) return Capture::Break(stream, "cuStreamAddCallback");
  return SubmitPending(stream, new Pending{.callback = callback, .stream = handle, .user = user});
}

}  // namespace tutti::client
