// Tries every order in which the steps of a small concurrent system can happen, for tests of what must hold in all of
// them. A system that can be saved is put back to where its paths branch. Another one is made anew for every path and
// brought there by doing the same steps again, so it may hold anything, real objects included. States that have been
// seen are not gone on from.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tutti::interleavings {

// The system under test. Deterministic: the same steps lead to the same state.
class World {
 public:
  virtual ~World() = default;
  // What can happen next, by number; nothing: it has come to its end.
  virtual std::vector<uint32_t> Steps() = 0;
  virtual void Do(uint32_t step) = 0;
  // Different for states from which different things can follow.
  virtual uint64_t State() = 0;
  // For systems that can be put back as they were.
  virtual bool Save(std::vector<uint64_t>*) { return false; }
  virtual void Restore(const std::vector<uint64_t>&) {}
  // What is wrong with it as it is now (at its end: that somebody still waits, say). Empty: nothing.
  virtual std::string Problem() = 0;
  // For systems that need not end in every order: from each state, one is asked to go on fairly, and what is wrong if
  // that does not end. It is not used afterwards.
  virtual bool GoesOnFairly() const { return false; }
  virtual std::string ProblemIfGoingOnFairly() { return {}; }
  // A name for the report.
  virtual std::string Name(uint32_t step) { return std::to_string(step); }
};

struct Outcome {
  uint64_t states = 0;  // different ones
  uint64_t ends = 0;  // of paths
  bool complete = false;  // all of them were seen
  std::string problem;  // the first one, and the steps that lead to it
};
Outcome Explore(const std::function<std::unique_ptr<World>()>& make, uint64_t most_states = 3'000'000);

// A hash over whatever a state is made of.
class Hash {
 public:
  Hash& Add(uint64_t value) {
    value_ = (value_ ^ value) * 0x9e3779b97f4a7c15u;
    value_ ^= value_ >> 29;
    return *this;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0x243f6a8885a308d3u;
};

}  // namespace tutti::interleavings
