// The programs of a soak: started at random, killed at random, judged by how they end. Each writes to a file of its
// own, which is kept if the program has not ended as it should.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace tutti::soak {

struct Program {
  pid_t pid;
  std::string what;
  std::string log;
  std::chrono::steady_clock::time_point begin;
  bool killed = false;    // by us
  bool may_fail = false;  // an error may be reported to it, since something was done to it or its server
  bool stopped = false;   // by us, until GoOn
};

// Records the state of a process (its threads, descriptors and mappings, and backtraces if there is gdb).
void Portray(pid_t pid, const std::string& file);

// Of one thread.
class Programs {
 public:
  // `build`: its examples and its run_test, which takes the cases in `cases`.
  Programs(std::string build, std::string cases, std::string logs, std::mt19937_64& random)
      : build_(std::move(build)), cases_(std::move(cases)), logs_(std::move(logs)), random_(random) {}

  // An example that checks all its results, or a run test whose result is a fault.
  void Start();
  // One of those that run, or null.
  Program* Any() { return running_.empty() ? nullptr : &running_[random_() % running_.size()]; }
  void Kill(Program& program);
  // Stops it, wherever it is.
  void Stop(Program& program);
  // Continues all that were stopped.
  void GoOn();
  // From now on those that run may end with an error.
  void LetFail();
  // The same, but for these processes.
  void LetFailBut(const std::vector<pid_t>& processes);

  // Reaps those that have ended. Appends to `problem` what did not end as it should.
  void Reap(std::string& problem);
  // Continues all and waits until they have ended; one that has not after two minutes is recorded and killed, and is a
  // problem.
  void AwaitAll(std::string& problem);

  size_t running() const { return running_.size(); }
  size_t started() const { return started_; }
  size_t kills() const { return kills_; }
  size_t stops() const { return stops_; }

 private:
  pid_t Spawn(const std::vector<std::string>& words, const std::string& log) const;

  const std::string build_, cases_, logs_;
  std::mt19937_64& random_;
  std::vector<Program> running_;
  size_t started_ = 0, kills_ = 0, stops_ = 0;
};

}  // namespace tutti::soak
