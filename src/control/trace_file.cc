#include "control/trace_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace tutti::control {
namespace {

struct Closer {
  void operator()(FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, Closer>;

// A server's user may make the file arbitrarily long.
constexpr size_t kMostBytes = 512 << 20;

Result<std::string> Contents(int fd) {
  std::string text;
  char bytes[64 * 1024];
  for (;;) {
    const ssize_t count = pread(fd, bytes, sizeof bytes, static_cast<off_t>(text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FailErrno("reading a trace");
    if (count == 0) return text;
    text.append(bytes, static_cast<size_t>(count));
    if (text.size() > kMostBytes) return Fail(fmt::format("a server's trace is longer than {} MiB", kMostBytes >> 20));
  }
}

void AppendEvents(std::string_view lines, std::string& out) {
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (line.empty()) continue;
    if (!out.empty()) out += ",\n";
    out += line;
  }
}

}  // namespace

Status WriteChromeTrace(const std::vector<os::Fd>& files, const std::string& path) {
  std::string events;
  for (const os::Fd& file : files) {
    TUTTI_ASSIGN(const std::string text, Contents(file.get()));
    AppendEvents(text, events);
  }
  const File out(std::fopen(path.c_str(), "w"));
  if (!out) return FailErrno(fmt::format("cannot write the trace to {}", path));
  const std::string document = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events + "\n]}\n";
  if (std::fwrite(document.data(), 1, document.size(), out.get()) != document.size() || std::fflush(out.get()) != 0) {
    return FailErrno(fmt::format("cannot write the trace to {}", path));
  }
  return {};
}

}  // namespace tutti::control
