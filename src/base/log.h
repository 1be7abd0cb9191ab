// The log: one line per event, in the line format of NVIDIA MPS, which log collectors already parse:
//
//   [2026-11-20 07:38:29.641 Control  7346] text
//
// Local time with milliseconds, the role, the process id right-aligned in five. Thread-safe; a line is one write(2), so
// lines of several processes appending to one file never mix. Works before Open (to stderr, warnings and worse only).
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace tutti::log {

enum class Level { kDebug, kInfo, kWarning, kError };

// Directs the log of this process to the file `path` (appended, created 0644), or to stderr if `path` is empty. `role`
// is the word in the line ("Control", "Server", "Other"). Reopens when called again (SIGHUP).
// False if the file cannot be opened (errno says why); the log then stays where it was.
bool Open(const std::string& path, std::string_view role);

// Every line goes to `fd` as well (-1: to the log alone). For a daemon in the foreground.
void Echo(int fd);

// Lines below `level` are dropped. Default kInfo; TUTTI_LOG_LEVEL=debug|info|warning|error sets it in Open.
void SetLevel(Level level);
bool Enabled(Level level);

// Writes one line; newlines and control characters in `text` are replaced by '?', since parts of it come from clients.
void Write(Level level, std::string_view text);

template <typename... Args>
void Debug(fmt::format_string<Args...> format, Args&&... args) {
  if (Enabled(Level::kDebug)) Write(Level::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void Info(fmt::format_string<Args...> format, Args&&... args) {
  if (Enabled(Level::kInfo)) Write(Level::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void Warning(fmt::format_string<Args...> format, Args&&... args) {
  if (Enabled(Level::kWarning)) Write(Level::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void Error(fmt::format_string<Args...> format, Args&&... args) {
  if (Enabled(Level::kError)) Write(Level::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace tutti::log
