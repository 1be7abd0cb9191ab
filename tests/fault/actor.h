// A client in a test: a process of its own that does something on the device, reports that it has, and ends or waits.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "../compat/driver_api.h"

namespace tutti::fault {

// In memory that all actors and the test share.
struct ActorPage {
  std::atomic<bool> ready{false};
  std::atomic<bool> leave{false};
  std::atomic<bool> begun{false};    // what it does when it may leave
  std::atomic<uint64_t> address{0};  // a result to report
  std::atomic<bool> failed{false};
  char failure[256] = "";
};

// Of the test's main thread.
class Actor {
 public:
  // Runs `act` in a process that has made a context on device 0.
  explicit Actor(const std::function<void(ActorPage&)>& act);
  ~Actor();
  Actor(const Actor&) = delete;

  ActorPage& page() { return *page_; }
  pid_t pid() const { return pid_; }
  // The error before it was ready, or ended; empty if there was none.
  std::string AwaitReady();
  std::string AwaitEnd();
  // Releases it from WaitToLeave, then waits for its end.
  std::string Leave();
  void Kill();

 private:
  ActorPage* page_;
  pid_t pid_;
  bool ended_ = false;
  int status_ = 0;
};

// For actors. Records the error and ends the process.
[[noreturn]] void GiveUp(ActorPage& page, const std::string& what);
void Check(ActorPage& page, const char* call, cuda::CUresult result);
// Memory of its own, written on the device and read back.
void ComputeOnce(ActorPage& page);
// Reports that it is ready; returns when the test calls Leave.
void WaitToLeave(ActorPage& page);

}  // namespace tutti::fault
