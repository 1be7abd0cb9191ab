// Bounds the size of logs even if nobody rotates them: a log that exceeds the limit is renamed to <log>.old, replacing
// the previous one, and the daemon and its servers continue in new files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/loop/event_loop.h"

namespace tutti::daemon {

// Daemon thread only.
class LogKeeper {
 public:
  // `logs`: returns the paths of all current logs. `open_anew` is called when some have been renamed.
  LogKeeper(EventLoop& loop, std::function<std::vector<std::string>()> logs, std::function<void()> open_anew);
  ~LogKeeper() { loop_.Cancel(next_); }
  LogKeeper(const LogKeeper&) = delete;

 private:
  void Look();

  EventLoop& loop_;
  const std::function<std::vector<std::string>()> logs_;
  const std::function<void()> open_anew_;
  const uint64_t most_bytes_;
  TimerId next_ = 0;
};

// Rotates the log at `path` if it is a file of ours, or root's, of more than `most_bytes`; true if it was renamed. If
// it cannot be renamed, it is truncated. Links and devices are left alone.
bool TurnOver(const std::string& path, uint64_t most_bytes);

}  // namespace tutti::daemon
