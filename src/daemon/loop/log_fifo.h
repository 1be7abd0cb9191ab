// The FIFO `log` in the pipe directory: lines that other programs write there appear in control.log. Everybody may
// write to it, anonymously, so lines are cut at 512 bytes and all writers share one log budget: a flood displaces lines
// of other writers to the FIFO, and nobody else's. Daemon thread only.
#pragma once

#include <string>

#include "base/log_budget.h"
#include "daemon/loop/event_loop.h"

namespace tutti::daemon {

class LogFifo {
 public:
  // `fd` stays the caller's. `log` outlives it.
  LogFifo(EventLoop& loop, int fd, LogBudget& log);
  ~LogFifo() { loop_.Unwatch(watch_); }
  LogFifo(const LogFifo&) = delete;
  LogFifo& operator=(const LogFifo&) = delete;

 private:
  void Ready();

  EventLoop& loop_;
  const int fd_;
  LogBudget& log_;
  std::string partial_;
  const WatchId watch_;
};

}  // namespace tutti::daemon
