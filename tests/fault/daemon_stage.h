// A private daemon for a test, programs beside it, and failing calls in one of these processes (failing_calls.cc).
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "failing_calls.h"
#include "holdings.h"

namespace tutti::fault {

// For the test's main thread. Sets this process's CUDA_MPS_PIPE_DIRECTORY and CUDA_MPS_LOG_DIRECTORY.
class DaemonStage {
 public:
  // `failing`: the name of the process whose calls are counted and may fail.
  DaemonStage(std::string control, std::string failing);
  // Ends the daemon, and with it its servers.
  ~DaemonStage();
  DaemonStage(const DaemonStage&) = delete;

  const std::string& folder() const { return folder_; }
  pid_t daemon() const { return daemon_; }
  FailPage& page() { return *page_; }
  // From now on call number `call`, counted from 1, fails, or ends the process (`kills`). 0: none.
  void FailAt(uint64_t call, bool kills = false);

  // Runs a program. Returns its exit status; 1000 + signal; -1 if it hangs. `fails`: its calls are among those counted.
  int Run(const std::vector<std::string>& words, bool fails = false) const;
  pid_t Server() const;
  // Ends every server, so that the next client starts a new one.
  void EndServers() const;
  // Waits until a process holds no more than `before`.
  static bool HoldsAtMost(pid_t pid, const Holdings& before);
  // "when call 7, mmap, fails"
  std::string When(uint64_t call) const;

 private:
  pid_t Start(std::vector<std::string> words, bool fails) const;

  const std::string control_, failing_;
  std::string folder_;
  FailPage* page_ = nullptr;
  pid_t daemon_ = 0;
};

}  // namespace tutti::fault
