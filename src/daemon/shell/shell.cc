#include "daemon/shell/shell.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "control/daemon_connection.h"
#include "control/trace_file.h"
#include "control/words.h"
#include "daemon/shell/completion.h"
#include "daemon/shell/line_editor.h"

namespace tutti::daemon {
namespace {

constexpr const char* kNoDaemon = "Cannot find MPS control daemon process";
constexpr int kPatienceMs = 30'000;

// TUTTI_SHELL_TIMEOUT: seconds.
int PatienceMs() {
  const char* const text = std::getenv("TUTTI_SHELL_TIMEOUT");
  const auto seconds = text != nullptr ? control::ParseNumber(text) : std::nullopt;
  return seconds && *seconds >= 1 && *seconds <= 86'400 ? static_cast<int>(*seconds) * 1000 : kPatienceMs;
}

// On a terminal: completion queries the daemon on first use.
class Person {
 public:
  explicit Person(control::DaemonConnection& daemon)
      : editor_([this, &daemon](const std::string& line) {
          if (!help_) {
            const auto answer = daemon.Run("help");
            help_ = answer ? answer->text : "";
          }
          return Completions(*help_, line);
        }) {}

  std::optional<std::string> Next() { return editor_.Next(); }

 private:
  std::optional<std::string> help_;
  LineEditor editor_;
};

// Reads stdin by read(2), line by line: each answer must be printed before the next line is read, also on a pipe.
class LineReader {
 public:
  std::optional<std::string> Next() {
    for (;;) {
      if (const size_t end = buffer_.find('\n'); end != std::string::npos) {
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return line;
      }
      if (!Fill()) break;
    }
    if (buffer_.empty()) return std::nullopt;
    return std::exchange(buffer_, {});
  }

 private:
  bool Fill() {
    char bytes[4096];
    ssize_t count;
    do {
      count = read(STDIN_FILENO, bytes, sizeof bytes);
    } while (count < 0 && errno == EINTR);
    if (count <= 0) return false;
    buffer_.append(bytes, static_cast<size_t>(count));
    return true;
  }

  std::string buffer_;
};

// Writes an answer's trace files into the file that the command named, else to stdout.
int WriteFiles(const std::string& line, const control::Answer& answer) {
  const auto words = control::SplitWords(line);
  const Status written = control::WriteChromeTrace(answer.files, words.size() > 2 ? words[2] : "/dev/stdout");
  if (written) return answer.exit_status;
  std::fprintf(stderr, "%s\n", written.error().text.c_str());
  return 1;
}

// The exit status, or nothing if the connection broke.
std::optional<int> RunLine(control::DaemonConnection& daemon, const std::string& line, bool* ending) {
  auto answer = daemon.Run(line);
  if (!answer) {
    std::fprintf(stderr, "%s\n", answer.error().text.c_str());
    return std::nullopt;
  }
  // stdout carries only tables and values for scripts; reasons go to stderr.
  FILE* const out = answer->exit_status == 0 ? stdout : stderr;
  std::fputs(answer->text.c_str(), out);
  std::fflush(out);
  *ending = answer->ending;
  if (answer->ending) daemon.WaitForEnd();
  return answer->files.empty() ? answer->exit_status : WriteFiles(line, *answer);
}

std::optional<control::DaemonConnection> Connect(const control::Places& places) {
  auto daemon = control::DaemonConnection::Open(places, PatienceMs(),
                                                control::DaemonConnection::AfterPatience::kAskWhetherItLives);
  if (daemon) return std::move(*daemon);
  // Scripts match the first line; the reason is for people.
  std::fprintf(stderr, "%s\n", kNoDaemon);
  if (isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "%s\n", daemon.error().text.c_str());
  return std::nullopt;
}

}  // namespace

int RunOneCommand(const control::Places& places, const std::string& line) {
  auto daemon = Connect(places);
  if (!daemon) return 1;
  bool ending = false;
  return RunLine(*daemon, line, &ending).value_or(1);
}

namespace {

// Input from a pipe or a file: stops at the first command that fails.
int RunScript(control::DaemonConnection& daemon) {
  LineReader lines;
  while (const auto line = lines.Next()) {
    bool ending = false;
    const auto status = RunLine(daemon, *line, &ending);
    if (!status) return 1;
    if (ending || *status != 0) return *status;
  }
  return 0;
}

int RunInteractively(control::DaemonConnection& daemon) {
  Person person(daemon);
  while (const auto line = person.Next()) {
    if (control::SplitWords(*line).empty()) continue;
    bool ending = false;
    const auto status = RunLine(daemon, *line, &ending);
    if (!status) return 1;
    if (ending) return *status;
  }
  std::puts("");
  return 0;
}

}  // namespace

int RunShell(const control::Places& places) {
  auto daemon = Connect(places);
  if (!daemon) return 1;
  const bool person = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
  return person ? RunInteractively(*daemon) : RunScript(*daemon);
}

}  // namespace tutti::daemon
