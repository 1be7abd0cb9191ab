// share: throughput of N processes that each fill one SM, under the policy `share`. Reference: `time_slice` (exclusive
// quanta: a device that is not shared).
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "report.h"

namespace {

struct Child {
  pid_t pid;
  int to;
  FILE* from;
};

// What each process does: `bodies` squared is the length of a kernel, `depth` the launches between synchronisations.
struct Load {
  std::string name, bodies, depth;
};

Child Start(const std::string& program, const std::string& seconds, const Load& load) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) std::exit(1);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    execl(program.c_str(), program.c_str(), seconds.c_str(), load.bodies.c_str(), load.depth.c_str(), nullptr);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  return {pid, in[1], fdopen(out[0], "r")};
}

// Kernels per second of `count` processes together.
double Throughput(const std::string& client, size_t count, double seconds, const Load& load) {
  std::vector<Child> children;
  for (size_t i = 0; i < count; ++i) children.push_back(Start(client, fmt::format("{}", seconds), load));
  char line[64];
  for (const Child& child : children) {
    if (std::fgets(line, sizeof line, child.from) == nullptr) std::exit(1);
  }
  for (const Child& child : children) {
    if (write(child.to, "g", 1) != 1) std::exit(1);
  }
  double kernels = 0;
  for (const Child& child : children) {
    if (std::fgets(line, sizeof line, child.from) != nullptr) kernels += std::atof(line);
    std::fclose(child.from);
    close(child.to);
    waitpid(child.pid, nullptr, 0);
  }
  return kernels / seconds;
}

void SetPolicy(const std::string& control, const char* policy) {
  const std::string command = fmt::format("echo set_policy {} | '{}' > /dev/null", policy, control);
  if (std::system(command.c_str()) != 0) {
    fmt::print(stderr, "share: cannot set the policy; is CUDA_MPS_PIPE_DIRECTORY that of a running daemon?\n");
    std::exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  const std::string self = argv[0];
  const std::string folder = self.substr(0, self.rfind('/') + 1);
  const std::string client = folder + "share_client", control = folder + "../bin/tutti-control";
  bench::Report report("share", fmt::format("kernels per second of all processes together; ratio: share / time_slice "
                                            "on {} SMs; aim: at least 1.9 on two SMs from N = 2 up",
                                            sysconf(_SC_NPROCESSORS_ONLN)));
  const Load loads[] = {{"kernels of 0.5 ms, 8 queued", "2048", "8"},
                        {"kernels of 40 us, each waited for", "512", "1"}};
  for (const Load& load : loads) {
    for (const size_t count : {1u, 2u, 4u, 8u}) {
      std::vector<double> shared, sliced;
      for (int repeat = 0; repeat < 3; ++repeat) {
        SetPolicy(control, "share");
        shared.push_back(Throughput(client, count, 1.0, load));
        SetPolicy(control, "time_slice");
        sliced.push_back(Throughput(client, count, 1.0, load));
      }
      const bench::Statistics share = bench::Summarize(shared), slice = bench::Summarize(sliced);
      report.Add({fmt::format("N = {}, {}", count, load.name), share.median, "1/s", slice.median, "time_slice",
                  share.median / slice.median, share.spread});
    }
  }
  SetPolicy(control, "share");
  return report.Finish(out);
}
