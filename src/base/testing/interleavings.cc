#include "base/testing/interleavings.h"

#include <algorithm>
#include <utility>

namespace tutti::interleavings {
namespace {

constexpr size_t kSaveEvery = 8;  // branches: paths are long, and states larger than a few steps take time

struct Branch {
  std::vector<uint32_t> steps;
  size_t taken = 0;
  std::vector<uint64_t> saved;  // the system before; empty: as an earlier one, and the steps from there
};

// Of hashes, in one piece: there are millions.
class Seen {
 public:
  // False: it was there.
  bool Insert(uint64_t hash) {
    hash += hash == kNone;
    if (2 * size_ >= slots_.size()) Grow();
    return Put(hash);
  }
  uint64_t size() const { return size_; }

 private:
  static constexpr uint64_t kNone = 0;

  bool Put(uint64_t hash) {
    for (size_t at = hash;; ++at) {
      uint64_t& slot = slots_[at & (slots_.size() - 1)];
      if (slot == hash) return false;
      if (slot != kNone) continue;
      slot = hash;
      ++size_;
      return true;
    }
  }
  void Grow() {
    const auto old = std::exchange(slots_, std::vector<uint64_t>(std::max<size_t>(1024, 2 * slots_.size()), kNone));
    size_ = 0;
    for (const uint64_t hash : old) {
      if (hash != kNone) Put(hash);
    }
  }

  std::vector<uint64_t> slots_;
  uint64_t size_ = 0;
};

class Explorer {
 public:
  Explorer(const std::function<std::unique_ptr<World>()>& make, uint64_t most_states)
      : make_(make), most_states_(most_states) {}

  Outcome Run() {
    do {
      FollowToTheEnd();
    } while (outcome_.problem.empty() && seen_.size() < most_states_ && TakeNextBranch());
    outcome_.states = seen_.size();
    outcome_.complete = outcome_.problem.empty() && path_.empty();
    return std::move(outcome_);
  }

 private:
  std::unique_ptr<World> Replay() {
    auto world = make_();
    GoAlong(*world, 0);
    return world;
  }

  void GoAlong(World& world, size_t from) {
    for (; from < path_.size(); ++from) {
      world.Steps();
      world.Do(path_[from].steps[path_[from].taken]);
    }
  }

  void GoBack() {
    size_t from = path_.size();
    while (from > 0 && path_[from - 1].saved.empty()) --from;
    if (from == 0) {
      world_ = make_();
    } else {
      world_->Restore(path_[--from].saved);
    }
    GoAlong(*world_, from);
  }

  // One path: what is on it already, then the first step of each state that is new.
  void FollowToTheEnd() {
    GoBack();
    World* const world = world_.get();
    for (;;) {
      auto steps = world->Steps();
      if (std::string problem = world->Problem(); !problem.empty()) return Report(std::move(problem), *world);
      if (!seen_.Insert(world->State())) return;
      if (steps.empty()) {
        ++outcome_.ends;
        return;
      }
      if (world->GoesOnFairly()) {
        if (std::string problem = Replay()->ProblemIfGoingOnFairly(); !problem.empty()) {
          return Report(std::move(problem), *world);
        }
      }
      Branch& branch = path_.emplace_back(std::move(steps));
      if (path_.size() % kSaveEvery == 1) world->Save(&branch.saved);
      world->Do(branch.steps.front());
    }
  }

  bool TakeNextBranch() {
    while (!path_.empty() && ++path_.back().taken == path_.back().steps.size()) path_.pop_back();
    return !path_.empty();
  }

  void Report(std::string problem, World& world) {
    outcome_.problem = std::move(problem) + ", after:";
    for (const Branch& branch : path_) outcome_.problem += " " + world.Name(branch.steps[branch.taken]);
  }

  const std::function<std::unique_ptr<World>()>& make_;
  const uint64_t most_states_;
  std::unique_ptr<World> world_;
  std::vector<Branch> path_;
  Seen seen_;
  Outcome outcome_;
};

}  // namespace

Outcome Explore(const std::function<std::unique_ptr<World>()>& make, uint64_t most_states) {
  return Explorer(make, most_states).Run();
}

}  // namespace tutti::interleavings
