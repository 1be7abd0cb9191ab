#include "guest/exec/standing_runs.h"

#include <algorithm>

#include "guest/exec/block_run.h"

namespace tutti::guest {
namespace {

void Place(std::vector<BlockRun*>& heap, size_t at, BlockRun* run) {
  heap[at] = run;
  run->standing.position = static_cast<uint32_t>(at);
}

bool IsBefore(const BlockRun* a, const BlockRun* b) { return a->index() < b->index(); }

}  // namespace

void StandingRuns::SiftUp(Runs& heap, size_t at) {
  BlockRun* const run = heap[at];
  for (; at > 0 && IsBefore(run, heap[(at - 1) / 2]); at = (at - 1) / 2) Place(heap, at, heap[(at - 1) / 2]);
  Place(heap, at, run);
}

void StandingRuns::SiftDown(Runs& heap, size_t at) {
  BlockRun* const run = heap[at];
  for (size_t child = 2 * at + 1; child < heap.size(); child = 2 * at + 1) {
    if (child + 1 < heap.size() && IsBefore(heap[child + 1], heap[child])) ++child;
    if (!IsBefore(heap[child], run)) break;
    Place(heap, at, heap[child]);
    at = child;
  }
  Place(heap, at, run);
}

void StandingRuns::Add(BlockRun* run, Kind kind, uint64_t seen) {
  run->standing.kind = kind;
  run->standing.seen = seen;
  Heap(kind).push_back(run);
  SiftUp(Heap(kind), Heap(kind).size() - 1);
  run->next = nullptr;
  run->standing.previous = last_;
  (last_ != nullptr ? last_->next : first_) = run;
  last_ = run;
}

void StandingRuns::Remove(BlockRun* run) {
  Runs& heap = Heap(run->standing.kind);
  const size_t at = run->standing.position;
  BlockRun* const moved = heap.back();
  heap.pop_back();
  if (moved != run) {
    Place(heap, at, moved);
    SiftUp(heap, at);
    SiftDown(heap, moved->standing.position);
  }
  (run->standing.previous != nullptr ? run->standing.previous->next : first_) = run->next;
  (run->next != nullptr ? run->next->standing.previous : last_) = run->standing.previous;
  run->next = run->standing.previous = nullptr;
}

}  // namespace tutti::guest
