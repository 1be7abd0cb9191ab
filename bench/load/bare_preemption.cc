#include "load/bare_preemption.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/clock.h"
#include "os/futex.h"
#include "os/time_slice.h"

namespace bench {
namespace {

// As src/device/cpu/worker.cc and settings.h have them.
constexpr uint64_t kSliceNs = 10'000'000;
constexpr uint32_t kNice = 5;
constexpr uint64_t kSpinNs = 2'000;  // a client's (src/ipc/spin.h)

// Between the caller and the process.
struct Shared {
  std::atomic<uint64_t> began_ns{0};
  std::atomic<uint32_t> began{0};  // how many; a futex
  std::atomic<bool> sleeps{false};
};

Shared* shared;

void NoteBegin(int) {
  shared->began_ns = tutti::NowNs();
  shared->began.fetch_add(1);
  if (shared->sleeps.load()) tutti::os::FutexWake(&shared->began);
}

[[noreturn]] void Compute() {
  tutti::os::RequestTimeSlice(kSliceNs);
  tutti::os::BeNicer(kNice);
  volatile uint64_t x = 88172645463325252;
  while (true) x = x * 6364136223846793005 + 1442695040888963407;
}

[[noreturn]] void Serve(int bell) {
  setsid();  // as a daemon's server has: the system's scheduler groups processes by it
  signal(SIGUSR1, NoteBegin);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(Compute);
  for (uint64_t rings; read(bell, &rings, sizeof(rings)) == sizeof(rings);)
    pthread_kill(threads.front().native_handle(), SIGUSR1);
  _exit(0);
}

[[noreturn]] void Fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

uint64_t RingAndWait(int bell) {
  const uint32_t began = shared->began.load();
  const uint64_t begin_ns = tutti::NowNs(), one = 1;
  if (write(bell, &one, sizeof(one)) != sizeof(one)) Fail("bench: eventfd");
  while (shared->began.load() == began) {
    if (tutti::NowNs() - begin_ns < kSpinNs) continue;
    shared->sleeps = true;
    tutti::os::FutexWait(&shared->began, began);
    shared->sleeps = false;
  }
  return shared->began_ns.load() - begin_ns;
}

}  // namespace

std::vector<uint64_t> BarePreemptionsOver(double seconds, uint64_t period_us) {
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) Fail("bench: mmap");
  shared = new (memory) Shared;
  const int bell = eventfd(0, EFD_CLOEXEC);
  const pid_t process = fork();
  if (bell < 0 || process < 0) Fail("bench: eventfd or fork");
  if (process == 0) Serve(bell);
  usleep(300'000);  // under way
  std::vector<uint64_t> times;
  const uint64_t end_ns = tutti::NowNs() + static_cast<uint64_t>(seconds * 1e9);
  for (uint64_t next_ns = tutti::NowNs(); next_ns < end_ns; next_ns += period_us * 1000) {
    const uint64_t now_ns = tutti::NowNs();
    if (next_ns > now_ns) usleep(static_cast<useconds_t>((next_ns - now_ns) / 1000));
    times.push_back(RingAndWait(bell));
  }
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
  close(bell);
  munmap(memory, sizeof(Shared));
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace bench
