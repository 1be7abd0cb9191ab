// share: N processes that each fill one SM: their throughput, memory and context switches, under the policy `share`.
// References, in the same run and by turns: `time_slice` (exclusive quanta: a device that is not shared), and no daemon
// at all: each process has a server of its own then, with a device of all cores, and the machine's scheduler divides
// the cores. Also what a client with little work notices of one that always has work, with one server and with two.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "load/clients.h"
#include "load/usage.h"
#include "report.h"

namespace {

constexpr double kSeconds = 0.3;  // of each sample
constexpr int kRepeats = 3;

struct Child {
  pid_t pid;
  int to;
  FILE* from;
};

// What each process does: `bodies` squared is the length of a kernel, `depth` the launches between synchronisations.
struct Load {
  std::string name, bodies, depth;
};

Child Start(const std::string& program, const Load& load, bool without_daemon) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) std::exit(1);
  const std::string seconds = fmt::format("{}", kSeconds);
  const pid_t pid = fork();
  if (pid == 0) {
    if (without_daemon) bench::ForgetDaemon();
    dup2(in[0], 0);
    dup2(out[1], 1);
    execl(program.c_str(), program.c_str(), seconds.c_str(), load.bodies.c_str(), load.depth.c_str(), nullptr);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  return {pid, in[1], fdopen(out[0], "r")};
}

// What `count` processes did, and all that served them.
struct Sample {
  double kernels_per_second = 0;
  double switches_per_kernel = 0;
  double bytes_each = 0;  // proportional set size
};

Sample Run(const std::string& client, size_t count, const Load& load, bool without_daemon) {
  std::vector<Child> children;
  for (size_t i = 0; i < count; ++i) children.push_back(Start(client, load, without_daemon));
  char line[64];
  for (const Child& child : children) {
    if (std::fgets(line, sizeof line, child.from) == nullptr) std::exit(1);
  }
  for (const Child& child : children) {
    if (write(child.to, "g", 1) != 1) std::exit(1);
  }
  const auto sleep = [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); };
  sleep(kSeconds / 6);
  const bench::Usage before = bench::UsageOf(without_daemon);
  const uint64_t begin_ns = tutti::NowNs();
  sleep(kSeconds / 2);
  const bench::Usage after = bench::UsageOf(without_daemon);
  const double passed = static_cast<double>(tutti::NowNs() - begin_ns) / 1e9;
  double kernels = 0;
  for (const Child& child : children) {
    if (std::fgets(line, sizeof line, child.from) != nullptr) kernels += std::atof(line);
    std::fclose(child.from);
    close(child.to);
    waitpid(child.pid, nullptr, 0);
  }
  const double rate = kernels / kSeconds;
  return {.kernels_per_second = rate,
          .switches_per_kernel = static_cast<double>(after.switches - before.switches) / passed / rate,
          .bytes_each = static_cast<double>(after.proportional_bytes) / static_cast<double>(count)};
}

struct Samples {
  std::vector<double> rate, switches, mib;
  void Add(const Sample& sample) {
    rate.push_back(sample.kernels_per_second);
    switches.push_back(sample.switches_per_kernel);
    mib.push_back(sample.bytes_each / (1 << 20));
  }
};

void Add(bench::Report& report, const std::string& name, const char* unit, std::vector<double>& value,
         std::vector<double>& beside, const char* beside_name) {
  const bench::Statistics own = bench::Summarize(value), reference = bench::Summarize(beside);
  const double ratio = reference.median > 0 ? own.median / reference.median : 0;
  report.Add({name, own.median, unit, reference.median, beside_name, ratio, own.spread});
}

constexpr const char* kNoDaemon = "no daemon";

void Throughput(bench::Report& report, const std::string& client) {
  const Load loads[] = {{"kernels of 0.5 ms, 8 queued", "2048", "8"},
                        {"kernels of 40 us, each waited for", "512", "1"}};
  (void)Run(client, 1, loads[0], false);  // compiles, if nobody has
  bench::AwaitEndOfCompilers();
  for (const Load& load : loads) {
    for (const size_t count : {1u, 2u, 4u, 8u}) {
      Samples shared, sliced, alone;
      for (int repeat = 0; repeat < kRepeats; ++repeat) {
        bench::SetPolicy("share");
        shared.Add(Run(client, count, load, false));
        alone.Add(Run(client, count, load, true));
        bench::SetPolicy("time_slice");
        sliced.Add(Run(client, count, load, false));
      }
      const std::string name = fmt::format("N = {}, {}", count, load.name);
      Add(report, name, "1/s", shared.rate, sliced.rate, "time_slice");
      Add(report, name, "1/s", shared.rate, alone.rate, kNoDaemon);
      Add(report, name + ": context switches per kernel", "", shared.switches, alone.switches, kNoDaemon);
      if (&load == loads) Add(report, name + ": memory of each process", "MiB", shared.mib, alone.mib, kNoDaemon);
    }
  }
}

// The 50th and 99th percentile in us of a small client's kernels: from launch to the end of the synchronisation.
std::pair<double, double> SmallClient(const std::vector<bench::ClientSpec>& others, bool without_daemon) {
  std::vector<bench::ClientSpec> specs = {{.arguments = "ping 50 1000", .without_daemon = without_daemon}};
  for (bench::ClientSpec other : others) {
    other.without_daemon = without_daemon;
    specs.push_back(other);
  }
  bench::Clients clients(specs);
  clients.Begin();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  unsigned long p50, p99;
  if (std::sscanf(clients.End()[0].c_str(), "%*u %*u %lu %lu", &p50, &p99) != 2) std::exit(1);
  return {static_cast<double>(p50) / 1000, static_cast<double>(p99) / 1000};
}

void BesideAHog(bench::Report& report) {
  bench::SetPolicy("share");
  const bench::ClientSpec hog{.arguments = "hog 64 200 16"};
  const bench::ClientSpec low{.arguments = "hog 64 200 16", .below_normal = true};
  const std::pair<const char*, std::vector<bench::ClientSpec>> cases[] = {{"alone", {}},
                                                                          {"beside a hog", {hog}},
                                                                          {"beside a hog below normal", {low}},
                                                                          {"beside three hogs", {hog, hog, hog}}};
  for (const auto& [name, others] : cases) {
    std::vector<double> p50[2], p99[2];
    for (const bool without_daemon : {false, true}) {
      const auto [median, late] = SmallClient(others, without_daemon);
      p50[without_daemon].push_back(median);
      p99[without_daemon].push_back(late);
    }
    Add(report, fmt::format("a kernel of 50 us per ms, {}: p50", name), "us", p50[0], p50[1], kNoDaemon);
    Add(report, fmt::format("a kernel of 50 us per ms, {}: p99", name), "us", p99[0], p99[1], kNoDaemon);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  const std::string self = argv[0];
  const std::string client = self.substr(0, self.rfind('/') + 1) + "share_client";
  bench::Report report(
      "share",
      fmt::format(
          "kernels per second of all processes together; ratio: share / time_slice on {} SMs; aim: at least 1.9 "
          "on two SMs from N = 2 up. \"no daemon\": each process has a server of its own, with as many SMs, and "
          "the machine's scheduler divides the cores. Memory (proportional set size) and context switches: of "
          "the processes and of all that serve them, the daemon included",
          sysconf(_SC_NPROCESSORS_ONLN)));
  Throughput(report, client);
  BesideAHog(report);
  return report.Finish(out);
}
