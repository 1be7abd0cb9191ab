// Every order of events on a small device, with the scheduler itself and simulated SMs: a grid in which each block
// waits for the one before ends, whichever block is preempted, moved, parked or killed when.
#include <gtest/gtest.h>

#include <bitset>
#include <deque>
#include <optional>

#include "base/testing/interleavings.h"
#include "device/cpu/schedule/scheduler.h"

namespace tutti::device::cpu {
namespace {

struct Case {
  uint32_t sms = 2;
  uint32_t cores = 2;
  uint32_t blocks = 4;
  uint32_t block_ns = 1;       // decides how large chunks are
  uint32_t preemptions = 1;    // at any moment
  uint32_t moves = 0;          // of the client to one SM, and back to all
  uint32_t learns = 0;         // that the kernel's blocks wait often, and that they do not
  bool other = false;          // another client's chain beside it
  bool killed = false;         // at any moment
  bool any_order = false;      // is what the kernel says of its blocks, wrongly
};

Ticker& SharedTicker() {
  static Ticker ticker([](uint64_t) { return kNever; });
  return ticker;
}

class Device final : public interleavings::World {
 public:
  explicit Device(const Case& plan)
      : plan_(plan), scheduler_({.sms = plan.sms, .cores = plan.cores}, &SharedTicker(), &pool_), sms_(plan.sms) {
    for (uint32_t i = 0; i < plan.sms; ++i) scheduler_.sm(i).thread = &sms_[i].thread;
    habits_.ns = plan.block_ns;
    Begin();
    if (plan.other) Begin();
  }

  ~Device() override {
    for (Sm& sm : sms_) {
      if (sm.run != nullptr) pool_.Put(sm.run);
    }
    for (Chain& chain : chains_) {
      while (guest::BlockRun* const run = chain.task.order.TakeAny()) pool_.Put(run);
    }
  }

  std::vector<uint32_t> Steps() override {
    std::vector<uint32_t> steps;
    if (AllEnded()) return steps;
    for (uint32_t i = 0; i < sms_.size(); ++i) {
      steps.push_back(kGoOn * kStride + i);
      if (!sms_[i].busy) continue;
      if (!MayEnd(sms_[i])) steps.push_back(kTurn * kStride + i);
      if (preempted_ < plan_.preemptions) steps.push_back(kPreempt * kStride + i);
    }
    if (moved_ < plan_.moves) steps.push_back(kMove * kStride);
    if (learned_ < plan_.learns) steps.push_back(kLearn * kStride);
    if (plan_.killed && !chains_[0].killed) steps.push_back(kKill * kStride);
    return steps;
  }

  std::string Name(uint32_t step) override {
    static constexpr const char* kNames[] = {"goes on", "has its turn", "is preempted", "move", "kill", "learn"};
    return std::string("SM ") + std::to_string(step % kStride) + " " + kNames[step / kStride] + ";";
  }

  void Do(uint32_t step) override {
    Sm& sm = sms_[step % kStride];
    switch (step / kStride) {
      case kGoOn: GoOn(sm); break;
      case kTurn:
        if (HasOthers(sm)) Leave(sm, {.yielded = true, .seen_ended = sm.seen});
        break;
      case kPreempt:
        ++preempted_;
        Leave(sm, {});
        break;
      case kMove:
        ++moved_;
        scheduler_.SetLimits(&chains_[0].share, {.sms = moved_ % 2 == 1 ? SmSet().set(0) : SmSet().set()});
        break;
      case kKill: Kill(chains_[0]); break;
      case kLearn: habits_.waits = ++learned_ % 2 == 1 ? BlockHabits::kAlways : 0; break;
    }
  }

  uint64_t State() override {
    interleavings::Hash hash;
    hash.Add(preempted_).Add(moved_).Add(learned_);
    hash.Add(plan_.other && chains_[0].share.virtual_ns < chains_[1].share.virtual_ns);
    for (Chain& chain : chains_) {
      hash.Add(chain.ended).Add(chain.done).Add(chain.killed);
      hash.Add(chain.task.order.StateForTests());
    }
    for (const Sm& sm : sms_) {
      hash.Add(sm.busy);
      if (sm.busy) {
        hash.Add(sm.chunk.task == &chains_[0].task).Add(sm.at).Add(sm.chunk.first + sm.chunk.count).Add(sm.seen);
        hash.Add(sm.finished).Add(sm.chunk.resumed != nullptr);
      }
    }
    return hash.value();
  }

  std::string Problem() override { return problem_; }

  // SMs take turns. Nothing is preempted any more.
  bool GoesOnFairly() const override { return true; }
  std::string ProblemIfGoingOnFairly() override {
    const uint32_t most_rounds = 200 * plan_.blocks * static_cast<uint32_t>(chains_.size());
    for (uint32_t round = 0; round < most_rounds; ++round) {
      if (AllEnded()) return problem_;
      for (Sm& sm : sms_) {
        if (sm.busy && !MayEnd(sm) && HasOthers(sm)) {
          Leave(sm, {.yielded = true, .seen_ended = sm.seen});
        } else {
          GoOn(sm);
        }
      }
      scheduler_.Tick(0);
    }
    return "the grid does not end";
  }

 private:
  enum What : uint32_t { kGoOn, kTurn, kPreempt, kMove, kKill, kLearn };
  static constexpr uint32_t kStride = 16;

  struct Chain {
    SpaceShare share;
    Task task;
    std::bitset<64> begun;
    uint64_t ended = 0;  // blocks below have
    bool done = false;   // the scheduler has said so
    bool killed = false;
  };

  struct Sm {
    guest::GuestThread thread;
    bool busy = false;
    Chunk chunk;
    uint64_t at = 0;  // block
    uint64_t seen = 0;
    uint64_t finished = 0;
    guest::BlockRun* run = nullptr;
  };

  void Begin() {
    Chain& chain = chains_.emplace_back();
    scheduler_.AddShare(&chain.share);
    scheduler_.SetLimits(&chain.share, {});
    chain.task.share = &chain.share;
    chain.task.total_blocks = plan_.blocks;
    chain.task.habits = &habits_;
    chain.task.any_order = plan_.any_order;
    (void)scheduler_.Submit(&chain.task);
  }

  Chain& ChainOf(const Sm& sm) { return sm.chunk.task == &chains_[0].task ? chains_[0] : chains_[1]; }

  bool AllEnded() {
    for (const Chain& chain : chains_) {
      if (!chain.done) return false;
    }
    return true;
  }

  bool MayEnd(const Sm& sm) { return ChainOf(sm).ended >= sm.at; }
  bool HasOthers(const Sm& sm) {
    return sm.at + 1 < sm.chunk.first + sm.chunk.count || sm.chunk.task->order.HasOthers();
  }

  void GoOn(Sm& sm) {
    if (!sm.busy) return Take(sm);
    Chain& chain = ChainOf(sm);
    if (chain.killed) return Finish(sm, {.finished = 0});
    const uint64_t seen = sm.chunk.task->order.ended();
    if (MayEnd(sm)) {
      if (chain.ended == sm.at) ++chain.ended;
      ++sm.finished;
      if (++sm.at == sm.chunk.first + sm.chunk.count) {
        Finish(sm, {.finished = sm.finished});
      } else {
        StartBlock(sm);
      }
      return;
    }
    sm.seen = seen;
    if (sm.chunk.task->order.HasEarlier(sm.at) || OthersQueued(sm)) Leave(sm, {.yielded = true, .seen_ended = seen});
  }

  bool OthersQueued(const Sm& sm) {
    for (Chain& chain : chains_) {
      if (&chain.task != sm.chunk.task && chain.task.queued) return true;
    }
    return false;
  }

  void Take(Sm& sm) {
    uint32_t seen;
    uint64_t retry_at_ns;
    const auto index = static_cast<uint32_t>(&sm - sms_.data());
    if (!scheduler_.Take(scheduler_.sm(index), &sm.chunk, &seen, &retry_at_ns)) return;
    sm.busy = true;
    sm.at = sm.chunk.first;
    sm.finished = 0;
    sm.seen = 0;
    sm.run = sm.chunk.resumed;
    if (sm.run == nullptr) {
      StartBlock(sm);
    } else if (sm.run->index() != sm.at) {
      problem_ = "a chunk that goes on with another block";
    }
  }

  void StartBlock(Sm& sm) {
    Chain& chain = ChainOf(sm);
    if (chain.begun.test(sm.at)) problem_ = "a block begins twice";
    chain.begun.set(sm.at);
    if (plan_.any_order) return;
    for (uint64_t earlier = 0; earlier < sm.at; ++earlier) {
      if (!chain.begun.test(earlier) && !IsNextOnAnSm(chain, earlier))
        problem_ = "a block begins before an earlier one";
    }
  }

  bool IsNextOnAnSm(const Chain& chain, uint64_t index) {
    for (const Sm& sm : sms_) {
      if (sm.busy && &ChainOf(sm) == &chain && sm.at <= index && index < sm.chunk.first + sm.chunk.count) return true;
    }
    return false;
  }

  // The block stands still, the rest of the chunk goes back.
  void Leave(Sm& sm, ChunkResult result) {
    if (sm.run == nullptr) {
      sm.run = pool_.Get();
      if (!sm.run->PrepareCall([](const void*, uint64_t) {}, nullptr, sm.at)) problem_ = "no memory";
    }
    result.finished = sm.finished;
    result.rest_begin = sm.at + 1;
    result.rest_end = sm.chunk.first + sm.chunk.count;
    result.suspended = std::exchange(sm.run, nullptr);
    Finish(sm, result);
  }

  void Finish(Sm& sm, ChunkResult result) {
    Chain& chain = ChainOf(sm);
    SmState& state = scheduler_.sm(static_cast<uint32_t>(&sm - sms_.data()));
    result.end_ns = state.begin_ns + 1000;
    if (sm.run != nullptr) pool_.Put(std::exchange(sm.run, nullptr));
    sm.busy = false;
    if (!scheduler_.Finish(state, sm.chunk, result)) return;
    if (chain.done) problem_ = "a task is done twice";
    if (!chain.killed && chain.ended != plan_.blocks) problem_ = "a task is done before its blocks are";
    chain.done = true;
    scheduler_.Release(state);
  }

  void Kill(Chain& chain) {
    chain.killed = true;
    std::vector<Task*> dropped;
    scheduler_.Drop(&chain.share, &dropped);
    if (!dropped.empty() && chain.done) problem_ = "a task is done twice";
    if (!dropped.empty()) chain.done = true;
  }

  const Case plan_;
  BlockPool pool_;
  Scheduler scheduler_;
  std::deque<Chain> chains_;
  std::vector<Sm> sms_;
  BlockHabits habits_;
  uint32_t preempted_ = 0;
  uint32_t moved_ = 0;
  uint32_t learned_ = 0;
  std::string problem_;
};

class GridOrder : public testing::TestWithParam<Case> {};

TEST_P(GridOrder, AChainEndsWhateverHappensWhen) {
  const auto outcome =
      interleavings::Explore([] { return std::make_unique<Device>(GetParam()); }, /*most_states=*/40'000);
  EXPECT_EQ(outcome.problem, "");
  EXPECT_GT(outcome.states, 10u);
  RecordProperty("states", static_cast<int>(outcome.states));
  RecordProperty("complete", outcome.complete);
}

INSTANTIATE_TEST_SUITE_P(Small, GridOrder,
                         testing::Values(Case{.sms = 1, .blocks = 5, .preemptions = 3},
                                         Case{.sms = 2, .blocks = 4, .preemptions = 2},
                                         Case{.sms = 2, .blocks = 4, .block_ns = 20'000, .preemptions = 2},
                                         Case{.sms = 3, .cores = 3, .blocks = 4, .preemptions = 1},
                                         Case{.sms = 3, .cores = 1, .blocks = 4, .preemptions = 1},
                                         Case{.sms = 2, .blocks = 4, .preemptions = 1, .moves = 2},
                                         Case{.sms = 2, .cores = 1, .blocks = 3, .preemptions = 1, .other = true},
                                         Case{.sms = 3, .cores = 1, .blocks = 3, .preemptions = 1, .learns = 2},
                                         Case{.sms = 3, .cores = 2, .blocks = 4, .preemptions = 0, .learns = 1},
                                         Case{.sms = 2, .cores = 1, .blocks = 3, .learns = 1, .other = true},
                                         Case{.sms = 3, .cores = 2, .blocks = 3, .learns = 1, .killed = true},
                                         Case{.sms = 2, .blocks = 3, .preemptions = 1, .killed = true}));
// Longer blocks: there is a chunk's worth of them.
INSTANTIATE_TEST_SUITE_P(
    SaidToWaitForNone, GridOrder,
    testing::Values(Case{.sms = 2, .blocks = 4, .block_ns = 20'000, .preemptions = 2, .any_order = true},
                    Case{.sms = 3, .cores = 3, .blocks = 4, .block_ns = 20'000, .preemptions = 0, .any_order = true},
                    Case{.sms = 3, .cores = 1, .blocks = 4, .block_ns = 20'000, .any_order = true},
                    Case{.sms = 2, .blocks = 3, .block_ns = 20'000, .moves = 2, .any_order = true},
                    Case{.sms = 2, .cores = 1, .blocks = 3, .block_ns = 20'000, .other = true, .any_order = true},
                    Case{.sms = 2, .blocks = 3, .block_ns = 20'000, .killed = true, .any_order = true}));

}  // namespace
}  // namespace tutti::device::cpu
