#include "frame/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace tutti::gpu {
namespace {

bool IsOfGpu(const std::string& line) {
  for (const char* const word : {"NVRM", "Xid", "nvidia", "nvlink", "fabric"}) {
    if (line.find(word) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

KernelLog::KernelLog(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  if (!file_)
    problem_ = path + ": " + strerror(errno);
  else
    lseek(file_.get(), 0, SEEK_END);
}

// Records are "PRIORITY,NUMBER,TIME,FLAGS;TEXT", and lines of further facts that begin with a space. A read gives one;
// EPIPE says that some were overwritten.
std::vector<std::string> KernelLog::News() {
  std::vector<std::string> news;
  if (!file_) return news;
  for (;;) {
    char bytes[8192];
    const ssize_t got = read(file_.get(), bytes, sizeof bytes);
    if (got < 0 && (errno == EPIPE || errno == EINTR)) continue;
    if (got <= 0) break;
    rest_.append(bytes, static_cast<size_t>(got));
  }
  for (size_t end = 0; (end = rest_.find('\n')) != std::string::npos;) {
    std::string line = rest_.substr(0, end);
    rest_.erase(0, end + 1);
    const size_t text = line.find(';');
    if (line.starts_with(' ') || text == std::string::npos) continue;
    line.erase(0, text + 1);
    if (IsOfGpu(line)) news.push_back(std::move(line));
  }
  return news;
}

}  // namespace tutti::gpu
