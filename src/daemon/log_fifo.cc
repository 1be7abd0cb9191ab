#include "daemon/log_fifo.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

namespace tutti::daemon {
namespace {

constexpr size_t kMaxLineBytes = 512;
constexpr uint32_t kMaxLinesPerSecond = 64;

}  // namespace

LogFifo::LogFifo(EventLoop& loop, int fd)
    : loop_(loop), fd_(fd), watch_(loop.Watch(fd, EPOLLIN, [this](uint32_t) { Ready(); })) {}

void LogFifo::Ready() {
  char buffer[4096];
  const ssize_t count = read(fd_, buffer, sizeof buffer);
  for (ssize_t i = 0; i < count; ++i) {
    if (buffer[i] != '\n' && partial_.size() < kMaxLineBytes) {
      partial_ += buffer[i];
    } else if (buffer[i] == '\n') {
      Line(partial_);
      partial_.clear();
    }
  }
}

void LogFifo::Line(std::string_view text) {
  const uint64_t second = NowNs() / 1'000'000'000u;
  if (second != second_) lines_this_second_ = 0;
  second_ = second;
  if (lines_this_second_++ < kMaxLinesPerSecond) log::Info("Other: {}", text);
}

}  // namespace tutti::daemon
