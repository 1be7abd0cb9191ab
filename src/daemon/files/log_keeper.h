// No log grows without end, whether somebody rotates it or not: one that has more than so many bytes is renamed to
// <log>.old, in the place of the one before, and the daemon and its servers go on in new files.
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
  // `logs`: the paths of all there are now. `open_anew` is called when some have been renamed.
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

// Begins the log at `path` anew if it is a file of ours, or root's, of more than `most_bytes`; true if it was renamed.
// Where it cannot be renamed, what is in it goes. Nothing happens to links and devices.
bool TurnOver(const std::string& path, uint64_t most_bytes);

}  // namespace tutti::daemon
