#include "load/bare.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>

#include "base/clock.h"

namespace bench {
namespace {

constexpr double kQuantumNs = 250'000;  // pauses for at least so much, as Tutti does (device/common/cap.cc)

uint64_t Work(uint64_t rounds) {
  uint64_t x = 88172645463325252;
  for (uint64_t i = 0; i < rounds; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}

uint64_t ProcessorNs(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

uint64_t RoundsPerMs() {
  constexpr uint64_t kRounds = 1'000'000;
  uint64_t best_ns = ~uint64_t{0};
  volatile uint64_t sink;
  for (int i = 0; i < 20; ++i) {
    const uint64_t begin_ns = tutti::NowNs();
    sink = Work(kRounds);
    best_ns = std::min(best_ns, tutti::NowNs() - begin_ns);
  }
  (void)sink;
  return kRounds * 1'000'000 / best_ns;
}

struct Load {
  double rate;  // cores' worth
  uint64_t blocks, rounds, begin_ns;
  std::atomic<uint64_t> next{0};
};

// Until the process is ended.
void RunGrids(Load& load, std::barrier<>& grid_ends, std::atomic<uint64_t>& sink) {
  while (true) {
    while (load.next.fetch_add(1) < load.blocks) {
      while (true) {
        const auto due_ns = static_cast<double>(tutti::NowNs() - load.begin_ns) * load.rate;
        const double left_ns = due_ns - static_cast<double>(ProcessorNs(CLOCK_PROCESS_CPUTIME_ID));
        if (left_ns > 0) break;
        const timespec pause{0, static_cast<long>(std::min((kQuantumNs - left_ns) / load.rate, 999e6))};
        nanosleep(&pause, nullptr);
      }
      sink += Work(load.rounds);
    }
    grid_ends.arrive_and_wait();
    load.next = 0;
    grid_ends.arrive_and_wait();
  }
}

[[noreturn]] void RunProcess(double rate, uint64_t blocks, uint64_t rounds, std::atomic<uint64_t>& sink) {
  Load load{.rate = rate, .blocks = blocks, .rounds = rounds, .begin_ns = tutti::NowNs()};
  const auto threads = static_cast<std::ptrdiff_t>(std::max(1.0, std::ceil(rate)));
  std::barrier grid_ends(threads);
  for (std::ptrdiff_t i = 1; i < threads; ++i) std::thread([&] { RunGrids(load, grid_ends, sink); }).detach();
  RunGrids(load, grid_ends, sink);
  _exit(0);
}

}  // namespace

std::vector<double> BareSharesOver(double seconds, const std::vector<double>& percentages, uint64_t blocks,
                                   uint64_t block_us) {
  const auto cores = static_cast<double>(std::thread::hardware_concurrency());
  const uint64_t rounds = RoundsPerMs() * block_us / 1000;
  auto* const sink = static_cast<std::atomic<uint64_t>*>(
      mmap(nullptr, sizeof(std::atomic<uint64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<pid_t> processes;
  for (const double percentage : percentages) {
    const pid_t process = fork();
    if (process < 0) {
      std::perror("bench: fork");
      std::exit(1);
    }
    if (process == 0) RunProcess(percentage / 100 * cores, blocks, rounds, *sink);
    processes.push_back(process);
  }
  const auto times = [&] {
    std::vector<double> had;
    for (const pid_t process : processes) {
      clockid_t clock;
      had.push_back(clock_getcpuclockid(process, &clock) == 0 ? static_cast<double>(ProcessorNs(clock)) : 0);
    }
    return had;
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // under way
  const std::vector<double> before = times();
  const uint64_t begin_ns = tutti::NowNs();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  std::vector<double> parts = times();
  const auto passed_ns = static_cast<double>(tutti::NowNs() - begin_ns);
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = (parts[i] - before[i]) / passed_ns / cores;
  for (const pid_t process : processes) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  munmap(sink, sizeof(*sink));
  return parts;
}

}  // namespace bench
