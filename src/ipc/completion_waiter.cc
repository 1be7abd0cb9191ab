#include "ipc/completion_waiter.h"

#include "os/futex.h"

namespace tutti::ipc {
namespace {

constexpr uint64_t kFirstSleepNs = 20'000'000;
constexpr uint64_t kLongestSleepNs = 200'000'000;

}  // namespace

int32_t CompletionWaiter::Wait(uint32_t stream, uint64_t ticket) {
  const auto done = [&] { return Done(stream, ticket); };
  if (done()) return 0;
  producer_->Nudge();
  const uint64_t begin_ns = NowNs();
  if (spin_.Spin(done)) return 0;

  wire::StreamSleepers& sleepers = sleepers_[stream];
  uint64_t sleep_ns = kFirstSleepNs;
  int32_t status = 0;
  for (;;) {
    const uint32_t wake = sleepers.wake.load(std::memory_order_seq_cst);
    if (done()) break;
    // seq_cst: pairs with the server's store of the word and its load of `awaited`.
    sleepers.Await(ticket + 1);
    if (words_[stream].completed.load(std::memory_order_seq_cst) > ticket) break;
    status = watch_->ended();
    if (status != 0) break;
    if (os::FutexWait(&sleepers.wake, wake, sleep_ns)) continue;
    // Timed out: the kernel runs long, a ring was lost, or the server has died.
    producer_->ForceBell();
    watch_->Check();
    if (sleep_ns < kLongestSleepNs) sleep_ns *= 2;
  }
  if (status == 0) spin_.Slept(NowNs() - begin_ns);
  return status;
}

}  // namespace tutti::ipc
