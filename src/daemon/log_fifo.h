// The FIFO `log` in the pipe directory: lines that other programs write there appear in control.log. Everybody may write
// to it, so lines are cut at 512 bytes and at most 64 are taken per second. Daemon thread only.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/event_loop.h"

namespace tutti::daemon {

class LogFifo {
 public:
  // `fd` stays the caller's.
  LogFifo(EventLoop& loop, int fd);
  ~LogFifo() { loop_.Unwatch(watch_); }
  LogFifo(const LogFifo&) = delete;
  LogFifo& operator=(const LogFifo&) = delete;

 private:
  void Ready();
  void Line(std::string_view text);

  EventLoop& loop_;
  int fd_;
  WatchId watch_;
  std::string partial_;
  uint64_t second_ = 0;
  uint32_t lines_this_second_ = 0;
};

}  // namespace tutti::daemon
