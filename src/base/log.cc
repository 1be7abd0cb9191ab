#include "base/log.h"

#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "base/log_file.h"
#include "base/printable.h"

namespace tutti::log {
namespace {

// Never destroyed: threads may log while the process exits.
struct State {
  std::mutex mutex;
  std::string role = "Other";
  int fd = STDERR_FILENO;
  int echo_fd = -1;
  bool opened = false;
  std::atomic<Level> level{Level::kWarning};
};

State& state() {
  static State* const instance = new State;
  return *instance;
}

Level LevelFromEnvironment() {
  const char* name = std::getenv("TUTTI_LOG_LEVEL");
  if (name == nullptr) return Level::kInfo;
  const std::string_view text = name;
  if (text == "debug") return Level::kDebug;
  if (text == "warning") return Level::kWarning;
  if (text == "error") return Level::kError;
  return Level::kInfo;
}

std::string Prefix(std::string_view role) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  tm local;
  localtime_r(&now.tv_sec, &local);
  char stamp[32];
  strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &local);
  return fmt::format("[{}.{:03d} {} {:5d}] ", stamp, now.tv_nsec / 1'000'000, role, getpid());
}

}  // namespace

bool Open(const std::string& path, std::string_view role) {
  State& s = state();
  int fd = STDERR_FILENO;
  if (!path.empty()) {
    fd = OpenFile(path);
    if (fd < 0) return false;
  }
  std::lock_guard lock(s.mutex);
  if (s.fd != STDERR_FILENO) close(s.fd);
  s.fd = fd;
  s.role = role;
  if (!s.opened) s.level = LevelFromEnvironment();
  s.opened = true;
  return true;
}

void Echo(int fd) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  s.echo_fd = fd;
}

void SetLevel(Level level) { state().level = level; }
bool Enabled(Level level) { return level >= state().level.load(std::memory_order_relaxed); }

void Write(Level, std::string_view text) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  const std::string line = Prefix(s.role) + Printable(text) + '\n';
  // A failed write must not end the program, and there is nowhere left to report it.
  [[maybe_unused]] ssize_t written = write(s.fd, line.data(), line.size());
  if (s.echo_fd >= 0) written = write(s.echo_fd, line.data(), line.size());
}

}  // namespace tutti::log
