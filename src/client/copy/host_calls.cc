#include "client/copy/host_calls.h"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/tsan.h"
#include "client/session/attachment.h"
#include "os/futex.h"

namespace tutti::client {
namespace {

constexpr uint64_t kCheckServerNs = 500'000'000;

// A pending call: a host function, a callback, a copy or a wait for a value. Its address travels through the server and
// back as the token, and lives until the call has been answered: no two that are under way have the same.
struct Pending {
  cuda::CUhostFn function = nullptr;
  cuda::CUstreamCallback callback = nullptr;
  cuda::CUstream stream = nullptr;
  void* user = nullptr;
  std::optional<HostCopies::Handle> copy = std::nullopt;
  std::optional<ValueWaits::Handle> wait = std::nullopt;
};

// The threads of one session and the queue between them. The threads own it: after the session's end one may stay in it
// for as long as the program's function runs.
class Threads : public std::enable_shared_from_this<Threads> {
 public:
  explicit Threads(Attachment& attachment) : attachment_(attachment) {}
  // False if they cannot be started.
  bool Start();

 private:
  using Body = void (Threads::*)();
  struct Entry {
    std::shared_ptr<Threads> threads;
    Body body;
  };
  bool StartThread(Body body);
  void End();
  void TakeForEver();
  void RunForEver();
  // The taking thread's: takes one call; sleeps until there may be another, or a value may have come.
  void Take(const wire::HostCall& call);
  void Sleep(uint32_t produced);
  void LookForValues();
  void ForgetValues();
  // The server orders the calls of one stream.
  void* PlaceOf(const wire::HostCall& call) { return &attachment_.channel().sleepers[call.stream]; }
  void Answer(const wire::HostCall& call) {
    OrderedBefore(PlaceOf(call));
    attachment_.ring().Submit(wire::RecordKind::kHostCallDone, call.stream, wire::HostCallBody{.token = call.token});
    delete reinterpret_cast<Pending*>(call.token);
  }

  Attachment& attachment_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<wire::HostCall> functions_;
  bool over_ = false;
  // The taking thread's alone.
  std::vector<wire::HostCall> looking_;  // calls that wait for a value
  PollPace pace_;
  uint64_t unchecked_ns_ = 0;  // slept since the server was last seen alive
};

bool Threads::Start() {
  if (!StartThread(&Threads::RunForEver)) return false;
  if (StartThread(&Threads::TakeForEver)) return true;
  End();
  return false;
}

void Threads::End() {
  std::lock_guard lock(mutex_);
  over_ = true;
  more_.notify_one();
}

bool Threads::StartThread(Body body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  auto* const entry = new Entry{shared_from_this(), body};
  const auto main = [](void* given) -> void* {
    const std::unique_ptr<Entry> own(static_cast<Entry*>(given));
    (*own->threads.*own->body)();
    return nullptr;
  };
  pthread_t thread;
  const bool started = pthread_create(&thread, nullptr, main, entry) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started) {
    pthread_detach(thread);
  } else {
    delete entry;
  }
  return started;
}

void Threads::TakeForEver() {
  wire::HostCallQueue& queue = attachment_.channel().host_calls;
  for (;;) {
    LookForValues();
    const uint32_t produced = queue.produced.load(std::memory_order_acquire);
    const uint32_t consumed = queue.consumed.load(std::memory_order_relaxed);
    if (produced == consumed) {
      if (attachment_.ended() != 0) break;
      Sleep(produced);
      continue;
    }
    const wire::HostCall call = queue.calls[consumed % wire::kHostCallSlots];
    queue.consumed.store(consumed + 1, std::memory_order_release);
    Take(call);
  }
  ForgetValues();
  End();
}

void Threads::Sleep(uint32_t produced) {
  const uint64_t sleep_ns = looking_.empty() ? kCheckServerNs : pace_.SleepNs(NowNs());
  if (os::FutexWait(&attachment_.channel().host_calls.produced, produced, sleep_ns)) return;
  unchecked_ns_ += sleep_ns;
  if (unchecked_ns_ < kCheckServerNs) return;
  unchecked_ns_ = 0;
  attachment_.connection().watch().Check();
}

void Threads::Take(const wire::HostCall& call) {
  auto* const pending = reinterpret_cast<Pending*>(call.token);
  OrderedAfter(pending);  // pairs with its submission
  OrderedAfter(PlaceOf(call));
  if (pending->copy) {
    HostCopies::Get().Make(*pending->copy, call.status);
    Answer(call);
  } else if (pending->wait) {
    if (ValueWaits::Get().Ended(*pending->wait, call.status)) return Answer(call);
    looking_.push_back(call);
    ValueWaits::CountLooking(1);
    pace_.Restart(NowNs());
  } else {
    std::lock_guard lock(mutex_);
    functions_.push_back(call);
    more_.notify_one();
  }
}

void Threads::LookForValues() {
  if (looking_.empty()) return;
  if (ValueWaits::TakeHurry()) pace_.Restart(NowNs());
  for (size_t i = 0; i < looking_.size();) {
    const wire::HostCall call = looking_[i];
    if (!ValueWaits::Get().Ended(*reinterpret_cast<Pending*>(call.token)->wait)) {
      ++i;
      continue;
    }
    looking_[i] = looking_.back();
    looking_.pop_back();
    ValueWaits::CountLooking(-1);
    pace_.Restart(NowNs());
    Answer(call);
  }
}

void Threads::ForgetValues() {
  for (const wire::HostCall& call : std::exchange(looking_, {})) {
    auto* const pending = reinterpret_cast<Pending*>(call.token);
    ValueWaits::Get().Forget(*pending->wait);
    ValueWaits::CountLooking(-1);
    delete pending;
  }
}

// After an error a host function is not run; a callback is, and gets the error.
void Run(const wire::HostCall& call) {
  const auto* const pending = reinterpret_cast<Pending*>(call.token);
  if (pending->callback != nullptr) {
    pending->callback(pending->stream, call.status, pending->user);
  } else if (call.status == 0) {
    pending->function(pending->user);
  }
}

void Threads::RunForEver() {
  for (;;) {
    wire::HostCall call;
    {
      std::unique_lock lock(mutex_);
      more_.wait(lock, [this] { return over_ || !functions_.empty(); });
      if (functions_.empty()) return;
      call = functions_.front();
      functions_.pop_front();
    }
    Run(call);
    Answer(call);
  }
}

// Whether the current session has its threads.
bool Running() {
  static auto* const mutex = new std::mutex;
  static constinit Attachment* served = nullptr;
  std::lock_guard lock(*mutex);
  Attachment* const current = &Attachment::Get();
  if (served != current && std::make_shared<Threads>(*current)->Start()) served = current;
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
  return SubmitPending(stream, new Pending{.function = function, .user = user});
}

int SubmitCallback(Stream& stream, cuda::CUstream handle, cuda::CUstreamCallback callback, void* user) {
  return SubmitPending(stream, new Pending{.callback = callback, .stream = handle, .user = user});
}

int SubmitHostCopy(Stream& stream, HostCopies::Handle copy) { return SubmitPending(stream, new Pending{.copy = copy}); }

int SubmitValueWait(Stream& stream, ValueWaits::Handle wait) {
  return SubmitPending(stream, new Pending{.wait = wait});
}

}  // namespace tutti::client
