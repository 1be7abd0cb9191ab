// Address space is what threads compete for: under a limit on it (RLIMIT_AS) a heap of 64 MiB that is only reserved
// counts in full. How many heaps there may be, glibc decides once, at the first thread beyond M_ARENA_TEST heaps, and
// never again. So that decision is put off until the threads of the start have theirs; M_ARENA_MAX then makes it: no
// more than there are.
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

// Pairs with the acquire in AwaitHeaps: who has seen none due sees that each has one.
void HeapIsNotDue() {
  if (heaps_due.fetch_sub(1, std::memory_order_release) == 1) heaps_due.notify_all();
}

void TakeHeap() {
  void* volatile first = std::malloc(1);  // volatile: or the compiler leaves out both
  std::free(first);
  HeapIsNotDue();
}

void AwaitHeaps() {
  for (uint32_t due; (due = heaps_due.load(std::memory_order_acquire)) != 0;)
    heaps_due.wait(due, std::memory_order_acquire);
  mallopt(M_ARENA_MAX, 1);  // and those that are there stay
}

}  // namespace tutti::os
