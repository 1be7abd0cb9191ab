// clients: the cost of idle clients: the server's memory per client, the time to attach one more, and the launch
// latency of an active one among them. The idle ones are mere connections of this process: the server sees no more of
// a client.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "../tests/fault/holdings.h"
#include "base/clock.h"
#include "control/places.h"
#include "driver.h"
#include "ipc/client_connection.h"
#include "report.h"
#include "timing.h"

namespace {

std::vector<double> LaunchNs(CUfunction empty) {
  CHECK_CU(cuCtxSynchronize());
  std::vector<double> samples;
  for (int round = 0; round < 100; ++round) {
    for (const double ns : bench::TimeEach(100, [&] { bench::Launch(empty, 1, 1, 1, 1, nullptr); }))
      samples.push_back(ns);
    CHECK_CU(cuCtxSynchronize());
  }
  return samples;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  bench::OpenDevice();
  const CUfunction empty = bench::GetFunction(bench::LoadModule(bench::kEmptyKernel), "empty");
  std::vector<double> alone = LaunchNs(empty);
  const bench::Statistics launch_alone = bench::Summarize(alone);
  const std::string folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const pid_t server = tutti::fault::FirstServer(folder + "/../bin/tutti-control");
  const std::string daemon = tutti::control::PlacesFromEnvironment().pipe_directory;

  bench::Report report("clients",
                       "idle clients beside one that works; aim: at most 2 MiB each, launches as fast as alone");
  for (const size_t count : {1u, 64u, 1024u}) {
    const size_t before = tutti::fault::HoldingsOf(server).resident_bytes;
    std::vector<std::unique_ptr<tutti::ipc::ClientConnection>> idle;
    std::vector<double> attach_us;
    while (idle.size() < count) {
      const uint64_t begin_ns = tutti::NowNs();
      auto connection = tutti::ipc::ClientConnection::Connect(
          daemon, {.claimed_pid = static_cast<uint32_t>(getpid()), .command_line = "idle"}, 30'000);
      if (!connection)
        return fmt::print(stderr, "clients: number {}: {}\n", idle.size() + 1, connection.error().text), 1;
      attach_us.push_back(static_cast<double>(tutti::NowNs() - begin_ns) / 1000);
      idle.push_back(std::move(*connection));
    }
    const size_t after = tutti::fault::HoldingsOf(server).resident_bytes;
    std::vector<double> among = LaunchNs(empty);
    const bench::Statistics attach = bench::Summarize(attach_us), launch = bench::Summarize(among);
    const double mib =
        static_cast<double>(after > before ? after - before : 0) / (1 << 20) / static_cast<double>(count);
    report.Add({fmt::format("{} idle: server's memory per client", count), mib, "MiB", 2, "aim", mib / 2, 0});
    report.Add({fmt::format("{} idle: attach, p50", count), attach.median, "us", 0, "", 0, attach.spread});
    report.Add({fmt::format("{} idle: attach, p99", count), attach.p99, "us", 0, "", 0, 0});
    report.Add({fmt::format("{} idle: cuLaunchKernel of one at work, p50", count), launch.median, "ns",
                launch_alone.median, "alone", launch.median / launch_alone.median, launch.spread});
    idle.clear();
    for (int i = 0; i < 2000 && tutti::fault::WindowsOf(server) > 1; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return report.Finish(out);
}
