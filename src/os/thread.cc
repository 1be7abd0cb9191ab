// Under a limit on address space (RLIMIT_AS) a heap of 64 MiB counts in full though it is only reserved. glibc decides
// once, at the first thread beyond M_ARENA_TEST arenas, how many there may be. We postpone that decision until the
// threads of the start have theirs; M_ARENA_MAX then fixes the number: no more than there are.
#include "os/thread.h"

#include <malloc.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <cstdlib>

namespace tutti::os {
namespace {

std::atomic<uint32_t> heaps_due{0};

}  // namespace

void HeapIsDue() {
  [[maybe_unused]] static const int put_off = mallopt(M_ARENA_TEST, INT_MAX);
  heaps_due.fetch_add(1, std::memory_order_relaxed);
}

// Pairs with the acquire in AwaitHeaps: a thread that sees none due sees every heap in place.
void HeapIsNotDue() {
  if (heaps_due.fetch_sub(1, std::memory_order_release) == 1) heaps_due.notify_all();
}

void TakeHeap() {
  void* volatile first = std::malloc(1);  // volatile: else the compiler removes both
  std::free(first);
  HeapIsNotDue();
}

void AwaitHeaps() {
  for (uint32_t due; (due = heaps_due.load(std::memory_order_acquire)) != 0;)
    heaps_due.wait(due, std::memory_order_acquire);
  mallopt(M_ARENA_MAX, 1);  // existing ones stay
}

}  // namespace tutti::os
