// How long each phase of a compilation took.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace tutti::compiler {

class PhaseTimes {
 public:
  // Ends the running phase, if any, and starts `name`.
  void Start(std::string name) {
    Stop();
    running_ = std::move(name);
    since_ = Clock::now();
  }
  void Stop() {
    if (running_.empty()) return;
    phases_.emplace_back(std::exchange(running_, {}),
                         std::chrono::duration<double, std::milli>(Clock::now() - since_).count());
  }
  // Names and milliseconds, in order.
  const std::vector<std::pair<std::string, double>>& phases() const { return phases_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::string running_;
  Clock::time_point since_;
  std::vector<std::pair<std::string, double>> phases_;
};

}  // namespace tutti::compiler
