// Tells when names in a directory come and go. Daemon thread only.
#pragma once

#include <functional>
#include <string>

#include "daemon/loop/event_loop.h"
#include "os/fd.h"

namespace tutti::daemon {

class DirectoryWatch {
 public:
  // `changed` is called a moment after a name in `path` was made, removed or replaced, or the directory itself was; as
  // often as it happens, but at most five times a second. The directory may be made anew in the meantime. Where the
  // kernel has no watch left, nothing is ever told.
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
