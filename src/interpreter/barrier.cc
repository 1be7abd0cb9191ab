// Barriers of a block, and of a cluster.
#include <algorithm>
#include <bit>

#include "interpreter/families.h"

namespace tutti::interpreter {
namespace {

// Threads of each warp that have not exited.
std::vector<uint32_t> AliveOf(const Block& block) {
  std::vector<uint32_t> alive(block.warps());
  for (const Thread& thread : block.threads) alive[thread.warp()] += thread.exited ? 0 : 1;
  return alive;
}

}  // namespace

void ArriveAtBarrier(Step& step) {
  step.Accept({Modifier::kCta, Modifier::kAligned, Modifier::kSync, Modifier::kAnd, Modifier::kOr, Modifier::kPopc,
               Modifier::kRelease, Modifier::kAcquire, Modifier::kRelaxed});
  Thread& thread = step.thread;
  const bool reduces = step.Has(Modifier::kRed), arrives = step.Has(Modifier::kArrive),
             waits = step.Has(Modifier::kWait);
  if (step.Has(Modifier::kCluster)) {
    Barrier& cluster = step.block.barriers[kBarriers];
    if (!waits) {
      ++cluster.arrivals[thread.warp()];
      thread.cluster_phase = cluster.phase;
    }
    if (arrives || thread.cluster_phase != cluster.phase) return;
    thread.waiting = Waiting::kBarrier;
    thread.barrier = kBarriers;
    thread.barrier_instruction = &step.in;
    return;
  }
  const size_t first = reduces ? 1 : 0;
  const uint64_t id = step.Get(first, Type::kU32);
  if (id >= kBarriers) return step.Refuse("a barrier that is none");
  const bool counted = step.count() - first - (reduces ? 1 : 0) == 2;
  Barrier& barrier = step.block.barriers[id];
  barrier.expected = counted ? static_cast<uint32_t>(step.Get(first + 1, Type::kU32)) : 0;
  ++barrier.arrivals[thread.warp()];
  if (reduces) {
    barrier.votes += step.Predicate(step.count() - 1) ? 1 : 0;
    ++barrier.voters;
  }
  if (arrives) return;
  thread.waiting = Waiting::kBarrier;
  thread.barrier = static_cast<uint32_t>(id);
  thread.barrier_instruction = &step.in;
}

// A barrier counts warps: a warp has arrived when all its threads that have not exited have, and counts as a full one.
bool Machine::CompleteBarriers(Block& block) {
  const std::vector<uint32_t> alive = AliveOf(block);
  bool completed = false;
  for (uint32_t id = 0; id < block.barriers.size(); ++id) {
    if (id == kBarriers) continue;  // of the cluster: all blocks have to arrive
    Barrier& barrier = block.barriers[id];
    uint32_t arrived = 0, missing = 0;
    bool any = false;
    for (size_t warp = 0; warp < alive.size(); ++warp) {
      const uint32_t here = barrier.arrivals[warp];
      any |= here != 0;
      arrived += here != 0 && here >= alive[warp] ? kWarpSize : here;
      missing += here < alive[warp] ? alive[warp] - here : 0;
    }
    if (!any || (barrier.expected == 0 ? missing != 0 : arrived < barrier.expected)) continue;
    completed = true;
    EndPhase(block, id);
  }
  return completed;
}

// All threads of all blocks that have not exited.
bool Machine::CompleteClusterBarrier() {
  bool any = false;
  for (const Block& block : blocks_) {
    const std::vector<uint32_t> alive = AliveOf(block);
    const std::vector<uint32_t>& arrivals = block.barriers[kBarriers].arrivals;
    for (size_t warp = 0; warp < alive.size(); ++warp) {
      if (arrivals[warp] < alive[warp]) return false;
      any |= arrivals[warp] != 0;
    }
  }
  if (!any) return false;
  for (Block& block : blocks_) EndPhase(block, kBarriers);
  return true;
}

void Machine::EndPhase(Block& block, uint32_t id) {
  Barrier& barrier = block.barriers[id];
  const uint32_t votes = barrier.votes, voters = barrier.voters;
  std::ranges::fill(barrier.arrivals, 0);
  barrier.votes = barrier.voters = barrier.expected = 0;
  ++barrier.phase;
  for (Thread& thread : block.threads) {
    if (thread.waiting != Waiting::kBarrier || thread.barrier != id) continue;
    thread.waiting = Waiting::kNo;
    Step step(*this, thread, *thread.barrier_instruction);
    if (!step.Has(Modifier::kRed)) continue;
    if (step.Has(Modifier::kPopc))
      step.Put(0, Type::kU32, votes);
    else
      step.Put(0, Type::kPred, step.Has(Modifier::kAnd) ? votes == voters : votes != 0);
  }
}

}  // namespace tutti::interpreter
