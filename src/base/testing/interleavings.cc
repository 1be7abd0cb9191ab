#include "base/testing/interleavings.h"

#include <unordered_set>
#include <utility>

namespace tutti::interleavings {
namespace {

struct Branch {
  std::vector<uint32_t> steps;
  size_t taken = 0;
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
    for (const Branch& branch : path_) {
      world->Steps();
      world->Do(branch.steps[branch.taken]);
    }
    return world;
  }

  // One path: what is on it already, then the first step of each state that is new.
  void FollowToTheEnd() {
    auto world = Replay();
    for (;;) {
      auto steps = world->Steps();
      if (std::string problem = world->Problem(); !problem.empty()) return Report(std::move(problem), *world);
      if (!seen_.insert(world->State()).second) return;
      if (steps.empty()) {
        ++outcome_.ends;
        return;
      }
      if (world->GoesOnFairly()) {
        if (std::string problem = Replay()->ProblemIfGoingOnFairly(); !problem.empty()) {
          return Report(std::move(problem), *world);
        }
      }
      world->Do(steps.front());
      path_.push_back({.steps = std::move(steps)});
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
  std::vector<Branch> path_;
  std::unordered_set<uint64_t> seen_;
  Outcome outcome_;
};

}  // namespace

Outcome Explore(const std::function<std::unique_ptr<World>()>& make, uint64_t most_states) {
  return Explorer(make, most_states).Run();
}

}  // namespace tutti::interleavings
