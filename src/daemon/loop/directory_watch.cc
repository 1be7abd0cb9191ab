#include "daemon/loop/directory_watch.h"

#include <sys/epoll.h>
#include <sys/inotify.h>

#include "base/log.h"

namespace tutti::daemon {
namespace {

constexpr uint64_t kPauseNs = 200'000'000;
constexpr uint32_t kEvents =
    IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

}  // namespace

DirectoryWatch::DirectoryWatch(EventLoop& loop, std::string path, std::function<void()> changed)
    : loop_(loop),
      path_(std::move(path)),
      changed_(std::move(changed)),
      inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  if (!inotify_ || inotify_add_watch(inotify_.get(), path_.c_str(), kEvents) < 0) {
    log::Warning("{}: the daemon will not notice files removed there", FailErrno("inotify of " + path_).error().text);
    return;
  }
  watch_ = loop_.Watch(inotify_.get(), EPOLLIN, [this](uint32_t) { Ready(); });
}

DirectoryWatch::~DirectoryWatch() {
  if (watch_ != 0) loop_.Unwatch(watch_);
  loop_.Cancel(soon_);
}

void DirectoryWatch::Ready() {
  alignas(inotify_event) char events[4096];
  while (read(inotify_.get(), events, sizeof events) > 0) {
  }
  if (soon_ == 0) CallAgain(kPauseNs);
}

void DirectoryWatch::CallAgain(uint64_t delay_ns) {
  loop_.Cancel(soon_);
  soon_ = loop_.After(delay_ns, [this] {
    soon_ = 0;
    changed_();
    // The path may name another directory by now.
    inotify_add_watch(inotify_.get(), path_.c_str(), kEvents);
  });
}

}  // namespace tutti::daemon
