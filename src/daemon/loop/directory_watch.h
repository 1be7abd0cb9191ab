// Watches a directory for created and removed names. Daemon thread only.
#pragma once

#include <functional>
#include <string>

#include "daemon/loop/event_loop.h"
#include "os/fd.h"

namespace tutti::daemon {

class DirectoryWatch {
 public:
  // Calls `changed` shortly after a name in `path`, or the directory itself, was created, removed or replaced, at most
  // five times a second. The directory may be recreated in the meantime. If the kernel has no inotify watch left,
  // `changed` is never called.
  DirectoryWatch(EventLoop& loop, std::string path, std::function<void()> changed);
  ~DirectoryWatch();
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

  // Calls `changed` once more, `delay_ns` from now.
  void CallAgain(uint64_t delay_ns);

 private:
  void Ready();

  EventLoop& loop_;
  std::string path_;
  std::function<void()> changed_;
  os::Fd inotify_;
  WatchId watch_ = 0;
  TimerId soon_ = 0;
};

}  // namespace tutti::daemon
