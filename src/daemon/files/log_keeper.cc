#include "daemon/files/log_keeper.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/error.h"
#include "base/log.h"
#include "base/log_file.h"
#include "control/words.h"
#include "os/fd.h"
#include "os/program.h"

namespace tutti::daemon {
namespace {

constexpr uint64_t kLookNs = 5'000'000'000;
constexpr uint32_t kMostMiB = 64;  // of a log, by default

uint64_t MostBytes() {
  const std::string text = os::Environment("TUTTI_LOG_MIB");
  const auto number = text.empty() ? kMostMiB : control::ParseNumber(text).value_or(0);
  if (number == 0) log::Error("TUTTI_LOG_MIB=\"{}\" is not a number of MiB: using {}", text, kMostMiB);
  return uint64_t{number != 0 ? number : kMostMiB} << 20;
}

}  // namespace

LogKeeper::LogKeeper(EventLoop& loop, std::function<std::vector<std::string>()> logs, std::function<void()> open_anew)
    : loop_(loop), logs_(std::move(logs)), open_anew_(std::move(open_anew)), most_bytes_(MostBytes()) {
  next_ = loop_.After(kLookNs, [this] { Look(); });
}

void LogKeeper::Look() {
  next_ = loop_.After(kLookNs, [this] { Look(); });
  bool renamed = false;
  for (const std::string& log : logs_()) renamed |= TurnOver(log, most_bytes_);
  if (renamed) open_anew_();
}

bool TurnOver(const std::string& path, uint64_t most_bytes) {
  struct stat info{};
  if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || static_cast<uint64_t>(info.st_size) <= most_bytes)
    return false;
  const os::Fd file(log::OpenFile(path));  // none of a file that is not ours
  if (!file) return false;
  if (rename(path.c_str(), (path + ".old").c_str()) == 0) return true;
  const std::string why = FailErrno("rename").error().text;
  if (ftruncate(file.get(), 0) == 0)
    log::Warning("{} had {} bytes and was truncated, its content is lost: {}", path, info.st_size, why);
  return false;
}

}  // namespace tutti::daemon
