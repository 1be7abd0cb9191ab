// What a window has of memory that was allocated lately and gets huge pages, in the order in which it was: the first
// kMostBytes of each allocation, for who allocates more than they use keeps the rest of the machine's memory free. Only
// pages that are the allocation's alone, so that no more memory is taken than is counted. And none of what is freed
// right away: that would be work for nothing, in the way of those who free and allocate. Not thread-safe (WindowMemory
// holds the lock).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace tutti::device::cpu {

class FreshMemory {
 public:
  static constexpr uint64_t kMostBytes = 64 << 20;
  static constexpr uint64_t kRestNs = 1'000'000;

  // The allocation of `bytes` at `address`, made at `now_ns`.
  void Add(uint64_t address, uint64_t bytes, uint64_t now_ns);
  bool empty() const { return waiting_.empty(); }

  // The page to make next, of an allocation that has rested for kRestNs; Made follows, before another Next.
  std::optional<uint64_t> Next(uint64_t now_ns);
  // Whether what is being made has been freed meanwhile: then it says nothing of the system if no page was made.
  bool is_freed() const { return freed_; }
  // The allocation that may go now: a page of it was being made when MayGo was asked.
  std::optional<uint64_t> Made();

  // The allocation has been freed: none of its pages is begun any more. Whether one is being made: it may come behind
  // whatever its pages are freed by until MayGo is asked.
  bool Forget(uint64_t address);
  // Whether the allocation, forgotten, may be given back. If not, Made will say when.
  bool MayGo(uint64_t address);

 private:
  struct Waiting {
    uint64_t address, next, end;  // the allocation, and its pages [next, end)
    uint64_t since_ns;
  };
  std::deque<Waiting> waiting_;
  uint64_t making_ = 0;  // the allocation of the page that is being made; 0: none is
  bool freed_ = false;  // that allocation has been
  bool awaited_ = false;  // and is to be given back
};

}  // namespace tutti::device::cpu
