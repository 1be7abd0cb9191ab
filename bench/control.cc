// control: the time from starting the daemon with -d to its return (it answers then), and that of a shell with one
// command. Beside it, alternating in the same run: NVIDIA's own daemon, where $TUTTI_NVIDIA_MPS_CONTROL
// names one (tests/differential/fetch), else the start of a program that does nothing.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "report.h"

extern char** environ;

namespace {

// A control program with directories of its own.
class Control {
 public:
  Control(std::string program, const std::string& directory) : program_(std::move(program)) {
    for (const char* folder : {"pipe", "log"}) std::filesystem::create_directories(directory + "/" + folder);
    environment_.push_back("CUDA_MPS_PIPE_DIRECTORY=" + directory + "/pipe");
    environment_.push_back("CUDA_MPS_LOG_DIRECTORY=" + directory + "/log");
    for (char** entry = environ; *entry != nullptr; ++entry) {
      if (!std::string_view(*entry).starts_with("CUDA_MPS_")) environment_.emplace_back(*entry);
    }
  }

  // Milliseconds from start to end of the program with this argument ("": none) and this text on stdin.
  double Run(const std::string& argument, const std::string& input) const {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) std::exit(1);
    [[maybe_unused]] const ssize_t written = write(fds[1], input.data(), input.size());
    close(fds[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[0], 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    std::vector<char*> arguments{const_cast<char*>(program_.c_str())};
    if (!argument.empty()) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    std::vector<char*> variables;
    for (const std::string& entry : environment_) variables.push_back(const_cast<char*>(entry.c_str()));
    variables.push_back(nullptr);
    const uint64_t begin = tutti::NowNs();
    pid_t child;
    int status = 1;
    if (posix_spawn(&child, program_.c_str(), &actions, nullptr, arguments.data(), variables.data()) == 0)
      waitpid(child, &status, 0);
    const double ms = static_cast<double>(tutti::NowNs() - begin) / 1e6;
    posix_spawn_file_actions_destroy(&actions);
    close(fds[0]);
    if (status != 0) {
      fmt::print(stderr, "control: {} {} {} ended with status {}\n", program_, argument, input, status);
      std::exit(1);
    }
    return ms;
  }

 private:
  std::string program_;
  std::vector<std::string> environment_;
};

struct Samples {
  std::vector<double> start, command;
};

// One round: start, so many commands, end.
void Round(const Control& control, size_t commands, Samples& samples) {
  samples.start.push_back(control.Run("-d", ""));
  for (size_t i = 0; i < commands; ++i)
    samples.command.push_back(control.Run("", "get_default_active_thread_percentage"));
  control.Run("", "quit");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  const size_t rounds = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 20;
  constexpr size_t kCommands = 20;
  const auto bin = std::filesystem::canonical("/proc/self/exe").parent_path().parent_path() / "bin";
  std::string work = "/tmp/tutti-bench-control.XXXXXX";
  if (mkdtemp(work.data()) == nullptr) return 1;

  const char* const theirs = std::getenv("TUTTI_NVIDIA_MPS_CONTROL");
  const bool beside_nvidia = theirs != nullptr && access(theirs, X_OK) == 0;
  const Control ours(bin / "nvidia-cuda-mps-control", work + "/ours");
  const Control nvidias(beside_nvidia ? theirs : "/bin/true", work + "/theirs");
  Samples own, other;
  for (size_t round = 0; round < rounds; ++round) {
    Round(ours, kCommands, own);
    Round(nvidias, kCommands, other);
  }
  std::filesystem::remove_all(work);

  bench::Report report("control", "ratio = NVIDIA's time / ours where its daemon is at hand; at least 1: not slower");
  const std::string name = beside_nvidia ? "NVIDIA's daemon" : "/bin/true";
  const auto add = [&](const char* what, std::vector<double>& mine, std::vector<double>& reference) {
    const auto a = bench::Summarize(mine), b = bench::Summarize(reference);
    report.Add({.name = what,
                .value = a.median,
                .unit = "ms",
                .reference = b.median,
                .reference_name = name,
                .ratio = b.median / a.median,
                .spread = a.spread});
  };
  add("-d until it returns, p50", own.start, other.start);
  add("one command, p50", own.command, other.command);
  return report.Finish(out);
}
