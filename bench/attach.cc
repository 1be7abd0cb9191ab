// attach: the time from a process's start to the end of its first kernel, with a running server and a warm code cache;
// one process, and 64 at once. Reference: the start of a program that does nothing.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "report.h"

extern char** environ;

namespace {

// Starts `count` processes at once; ms until each has written its byte (or closed its output).
std::vector<double> StartMany(const std::string& program, size_t count) {
  std::vector<int> outputs;
  std::vector<pid_t> children;
  const uint64_t begin = tutti::NowNs();
  for (size_t i = 0; i < count; ++i) {
    int fds[2];
    if (pipe(fds) != 0) std::exit(1);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
    for (const int fd : outputs) posix_spawn_file_actions_addclose(&actions, fd);
    posix_spawn_file_actions_addclose(&actions, fds[0]);
    char* arguments[] = {const_cast<char*>(program.c_str()), nullptr};
    pid_t child;
    if (posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ) != 0) {
      fmt::print(stderr, "attach: cannot start {}\n", program);
      std::exit(1);
    }
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    outputs.push_back(fds[0]);
    children.push_back(child);
  }
  std::vector<double> samples;
  for (const int fd : outputs) {
    char byte;
    [[maybe_unused]] const ssize_t got = read(fd, &byte, 1);
    samples.push_back(static_cast<double>(tutti::NowNs() - begin) / 1e6);
    close(fd);
  }
  for (const pid_t child : children) {
    int status;
    waitpid(child, &status, 0);
    if (status != 0) {
      fmt::print(stderr, "attach: {} ended with status {}\n", program, status);
      std::exit(1);
    }
  }
  return samples;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  const std::string self = argv[0];
  const std::string client = self.substr(0, self.rfind('/') + 1) + "attach_client";
  StartMany(client, 1);  // fills the code cache
  bench::Report report("attach", "ratio: attached process / process that does nothing");
  for (const size_t count : {1u, 64u}) {
    std::vector<double> attached, nothing;
    for (int repeat = 0; repeat < (count == 1 ? 30 : 5); ++repeat) {
      for (const double ms : StartMany(client, count)) attached.push_back(ms);
      for (const double ms : StartMany("/bin/true", count)) nothing.push_back(ms);
    }
    const bench::Statistics with = bench::Summarize(attached), without = bench::Summarize(nothing);
    report.Add({fmt::format("{} at once: start to first kernel done, p50", count), with.median, "ms", without.median,
                "/bin/true", with.median / without.median, with.spread});
    report.Add({fmt::format("{} at once: start to first kernel done, p99", count), with.p99, "ms", without.p99,
                "/bin/true", with.p99 / without.p99, 0});
  }
  return report.Finish(out);
}
