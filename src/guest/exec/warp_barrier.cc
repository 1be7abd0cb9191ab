#include "guest/exec/warp_barrier.h"

#include <bit>
#include <cstring>

namespace tutti::guest {

uint32_t WarpBarriers::Outcome::Reduce(BarrierReduction op) const {
  switch (op) {
    case BarrierReduction::kPopulation: return population;
    case BarrierReduction::kAnd: return all ? 1 : 0;
    case BarrierReduction::kOr: return population != 0 ? 1 : 0;
  }
  return 0;
}

void WarpBarriers::Reset(uint32_t warps, uint32_t threads, bool of_several) {
  all_warps_ = warps == 32 ? ~0u : (1u << warps) - 1;
  finished_ = 0;
  threads_ = threads;
  of_several_ = of_several;
  for (; used_ != 0; used_ &= used_ - 1) barriers_[std::countr_zero(used_)] = Barrier{};
}

bool WarpBarriers::Arrive(const Arrival& a, uint32_t* released) {
  Barrier& barrier = barriers_[a.id];
  used_ |= 1u << a.id;
  barrier.counted = !IsOfBlock(a.threads);
  barrier.outcome.population += std::popcount(a.votes & a.mask);
  barrier.outcome.all &= (a.votes & a.mask) == a.mask;

  uint32_t before = 0;
  if ((a.mask & a.live) != a.live) {  // a part of the warp: recorded until the rest arrives
    if (!barrier.partial) std::memset(lanes_[a.id], 0, sizeof lanes_[a.id]);
    barrier.partial = true;
  }
  if (barrier.partial) {
    before = lanes_[a.id][a.warp];
    lanes_[a.id][a.warp] |= a.mask;
  }
  const bool whole = ((before | a.mask) & a.live) == a.live;
  bool complete;
  if (barrier.counted) {
    barrier.count +=
        whole ? 32 - static_cast<uint32_t>(std::popcount(before)) : static_cast<uint32_t>(std::popcount(a.mask));
    if (whole && barrier.partial) lanes_[a.id][a.warp] = 0;  // it may arrive again
    complete = barrier.count >= a.threads;
  } else {
    if (whole) barrier.arrived |= 1u << a.warp;
    complete = IsFull(barrier) && !(of_several_ && a.id == kClusterBarrier);
  }
  if (!a.wait) arrived_in_[a.id][a.warp] = phases_[a.id];
  if (a.wait && !complete) barrier.waiting |= 1u << a.warp;
  if (complete) *released = Complete(a.id, a.warp);
  return complete;
}

bool WarpBarriers::LanesEnded(uint32_t id, uint32_t warp, uint32_t live, uint32_t* released) {
  Barrier& barrier = barriers_[id];
  if (!barrier.partial || barrier.counted || (barrier.arrived >> warp & 1) != 0) return false;
  const uint32_t arrived = lanes_[id][warp];
  if (arrived == 0 || (arrived & live) != live) return false;
  barrier.arrived |= 1u << warp;
  if (!IsFull(barrier)) return false;
  *released = Complete(id, warp);
  return true;
}

void WarpBarriers::Wait(uint32_t id, uint32_t warp) {
  used_ |= 1u << id;
  barriers_[id].waiting |= 1u << warp;
}

bool WarpBarriers::Await(uint32_t id, uint32_t warp) {
  if (arrived_in_[id][warp] != phases_[id]) return true;
  Wait(id, warp);
  return false;
}

uint32_t WarpBarriers::WarpFinished(uint32_t warp) {
  finished_ |= 1u << warp;
  uint32_t released = 0;
  for (uint32_t open = used_; open != 0; open &= open - 1) {
    const auto id = static_cast<uint32_t>(std::countr_zero(open));
    if (of_several_ && id == kClusterBarrier) continue;
    if (!barriers_[id].counted && IsFull(barriers_[id])) released |= Complete(id, warp);
  }
  return released;
}

uint32_t WarpBarriers::CompleteOfCluster() {
  Barrier& barrier = barriers_[kClusterBarrier];
  const uint32_t released = barrier.waiting;
  barrier = Barrier{};
  ++phases_[kClusterBarrier];
  used_ &= ~(1u << kClusterBarrier);
  return released;
}

uint32_t WarpBarriers::Complete(uint32_t id, uint32_t last_warp) {
  Barrier& barrier = barriers_[id];
  const uint32_t released = barrier.waiting & ~(1u << last_warp);
  for (uint32_t warps = released | 1u << last_warp; warps != 0; warps &= warps - 1) {
    outcomes_[std::countr_zero(warps)] = barrier.outcome;
  }
  last_outcomes_[id] = barrier.outcome;
  barrier = Barrier{};
  ++phases_[id];
  used_ &= ~(1u << id);
  return released;
}

}  // namespace tutti::guest
