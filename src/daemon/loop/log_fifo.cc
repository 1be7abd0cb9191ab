#include "daemon/loop/log_fifo.h"

#include <sys/epoll.h>
#include <unistd.h>

namespace tutti::daemon {
namespace {

constexpr size_t kMaxLineBytes = 512;
constexpr const char* kWriters = "writers of the FIFO";

}  // namespace

LogFifo::LogFifo(EventLoop& loop, int fd, LogBudget& log)
    : loop_(loop), fd_(fd), log_(log), watch_(loop.Watch(fd, EPOLLIN, [this](uint32_t) { Ready(); })) {}

void LogFifo::Ready() {
  char buffer[4096];
  const ssize_t count = read(fd_, buffer, sizeof buffer);
  for (ssize_t i = 0; i < count; ++i) {
    if (buffer[i] != '\n' && partial_.size() < kMaxLineBytes) {
      partial_ += buffer[i];
    } else if (buffer[i] == '\n') {
      log_.Info(kWriters, "Other: {}", partial_);
      partial_.clear();
    }
  }
}

}  // namespace tutti::daemon
