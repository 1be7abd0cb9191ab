// The blocks of one task that have begun and do not run: preempted ones, which are runnable, and parked ones, which
// wait for memory that others write. Finds the one with the lowest index of either kind, and the one that has stood
// longest. Allocates nothing in the steady state. Not thread-safe: the scheduler's lock guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::guest {

class BlockRun;

class StandingRuns {
 public:
  enum class Kind : uint8_t { kReady, kWaiting };

  bool empty() const { return first_ == nullptr; }
  size_t count() const { return heaps_[0].size() + heaps_[1].size(); }
  size_t count(Kind kind) const { return Heap(kind).size(); }
  // `seen`: the task's progress when the run was last seen to wait.
  void Add(BlockRun* run, Kind kind, uint64_t seen = 0);
  // Null: none.
  BlockRun* Lowest(Kind kind) const { return Heap(kind).empty() ? nullptr : Heap(kind).front(); }
  BlockRun* Longest() const { return first_; }
  void Remove(BlockRun* run);

 private:
  using Runs = std::vector<BlockRun*>;
  Runs& Heap(Kind kind) { return heaps_[static_cast<size_t>(kind)]; }
  const Runs& Heap(Kind kind) const { return heaps_[static_cast<size_t>(kind)]; }
  static void SiftUp(Runs& heap, size_t at);
  static void SiftDown(Runs& heap, size_t at);

  Runs heaps_[2];               // by index, the lowest in front
  BlockRun* first_ = nullptr;  // all of them, in order of arrival
  BlockRun* last_ = nullptr;
};

}  // namespace tutti::guest
