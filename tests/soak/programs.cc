#include "programs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <thread>

namespace tutti::soak {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = 120s;
constexpr size_t kLastLines = 8;

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status)) return fmt::format("died of signal {}", WTERMSIG(status));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

std::string LastWords(const std::string& log) {
  std::deque<std::string> lines;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
    if (lines.size() > kLastLines) lines.pop_front();
  }
  std::string text;
  for (const std::string& line : lines) text += "\n    " + line;
  return text.empty() ? "\n    (it said nothing)" : text;
}

}  // namespace

void Portray(pid_t pid, const std::string& file) {
  const std::string command = fmt::format(
      "exec >> '{1}' 2>&1; tr '\\0' ' ' < /proc/{0}/cmdline; echo; for t in /proc/{0}/task/*; do echo \"$(cat $t/comm) "
      "$(cut -d' ' -f3 $t/stat) $(cat "
      "$t/wchan)\"; done; ls -l /proc/{0}/fd; grep tutti- /proc/{0}/maps; "
      "command -v gdb > /dev/null && timeout 20 gdb -p {0} -batch -ex 'thread apply all backtrace'",
      pid, file);
  (void)!std::system(command.c_str());
}

void Programs::Start() {
  static constexpr const char* kPrograms[] = {"vector_add", "matrix_multiply", "reduction",
                                              "mandelbrot", "histogram",       "n_body"};
  // Run tests that are meant to fail: a fault is their result.
  static constexpr const char* kFaults[] = {"wild_address_is_an_illegal_address", "trap_fails_the_launch",
                                            "assert_fails_with_its_own_error", "syntax_error_is_invalid_ptx",
                                            "misaligned_word_of_local_memory"};
  const bool faults = random_() % 4 == 0, chain = random_() % 6 == 0;
  const bool is_case = faults || chain;
  std::string what = chain    ? "each_block_waits_for_the_one_before"
                     : faults ? kFaults[random_() % std::size(kFaults)]
                              : kPrograms[random_() % std::size(kPrograms)];
  const std::vector<std::string> words =
      is_case ? std::vector<std::string>{build_ + "/test/run_test", cases_ + "/" + what + ".ptx"}
              : std::vector<std::string>{build_ + "/examples/" + what + "_driver", "--seconds",
                                         fmt::format("{}", 0.2 + 0.1 * static_cast<double>(random_() % 20))};
  std::string log = fmt::format("{}/{}-{}.log", logs_, ++started_, what);
  const pid_t pid = Spawn(words, log);
  running_.push_back({.pid = pid, .what = std::move(what), .log = std::move(log), .begin = Clock::now()});
}

pid_t Programs::Spawn(const std::vector<std::string>& words, const std::string& log) const {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(file, 1);
  dup2(file, 2);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  fmt::print(stderr, "cannot start {}\n", arguments[0]);
  std::fflush(stderr);
  _exit(127);
}

void Programs::Kill(Program& program) {
  if (program.killed) return;
  kill(program.pid, SIGKILL);
  program.killed = true;
  ++kills_;
}

void Programs::Stop(Program& program) {
  if (program.killed || program.stopped) return;
  kill(program.pid, SIGSTOP);
  program.stopped = true;
  ++stops_;
}

void Programs::GoOn() {
  for (Program& program : running_) {
    if (program.stopped) kill(program.pid, SIGCONT);
    program.stopped = false;
  }
}

void Programs::LetFailBut(const std::vector<pid_t>& processes) {
  for (Program& program : running_) {
    if (std::ranges::find(processes, program.pid) == processes.end()) program.may_fail = true;
  }
}

void Programs::LetFail() {
  for (Program& program : running_) program.may_fail = true;
}

void Programs::Reap(std::string& problem) {
  int status = 0;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    const auto found = std::find_if(running_.begin(), running_.end(), [pid](const Program& r) { return r.pid == pid; });
    if (found == running_.end()) continue;
    const bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    const bool as_killed = found->killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    // By a reported error, not by a crash.
    const bool as_told = found->may_fail && WIFEXITED(status);
    if (well || as_killed || as_told) {
      unlink(found->log.c_str());
    } else {
      const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - found->begin).count();
      problem += fmt::format("{} ({}) {} after {} ms; its last words:{}\n", found->what, pid, HowItEnded(status), ms,
                             LastWords(found->log));
    }
    running_.erase(found);
  }
}

void Programs::AwaitAll(std::string& problem) {
  GoOn();
  for (const auto limit = Clock::now() + kPatience; !running_.empty(); std::this_thread::sleep_for(5ms)) {
    Reap(problem);
    if (Clock::now() < limit) continue;
    for (const Program& program : running_) {
      Portray(program.pid, program.log);
      problem += fmt::format("{} ({}) hangs; what it was doing is in {}\n", program.what, program.pid, program.log);
      kill(program.pid, SIGKILL);
      waitpid(program.pid, nullptr, 0);
    }
    running_.clear();
  }
}

}  // namespace tutti::soak
