// The clients of the benchmarks of limits (shares, fair, latency, preempt, overhead):
//
//   load_client hog BLOCKS US DEPTH      launches kernels of BLOCKS blocks of US microseconds each, DEPTH at a time;
//                                        writes how many it has done per second
//   load_client ping US PERIOD_US        one kernel of one block per period; writes the 50th and 99th percentile of the
//                                        time from the launch to its first instruction, and to its end (ns), and how
//                                        many
//   load_client fault PERIOD_US          a kernel per period that writes where it may not, then a new context; writes
//                                        the 50th and 99th percentile of the time from the launch to the error (ns),
//                                        and how many
//
// Each writes "ready", begins at the first byte on stdin and ends with its end. Further bytes are for `fault`: at each
// second one it pauses until the next.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <vector>

#include "base/clock.h"
#include "driver.h"

EMBED_TEXT(ptx, "load/load.ptx");

extern "C" {
using CUevent = struct CUevent_st*;
int cuEventCreate(CUevent* event, unsigned flags);
int cuEventRecord(CUevent event, CUstream stream);
int cuEventSynchronize(CUevent event);
int cuDevicePrimaryCtxReset_v2(CUdevice device);
}

namespace {

constexpr unsigned kDisableTiming = 2;

bool Ended() {
  pollfd in{0, POLLIN, 0};
  return poll(&in, 1, 0) > 0;
}

// %globaltimer's clock.
uint64_t GlobalNs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

class Load {
 public:
  Load() : program_(ptx, "work"), out_(33) {
    // The quickest of some runs: others may be using the device.
    constexpr uint64_t kRounds = 200'000;
    program_.Run(1, 32, 1, out_.address(), uint64_t{1});
    uint64_t best_ns = ~0ull;
    for (int i = 0; i < 20; ++i) {
      const uint64_t begin_ns = tutti::NowNs();
      program_.Run(1, 32, 1, out_.address(), kRounds);
      best_ns = std::min(best_ns, tutti::NowNs() - begin_ns);
    }
    rounds_per_us_ = static_cast<double>(kRounds) * 1000 / static_cast<double>(best_ns);
  }

  void Launch(unsigned blocks, double us) {
    program_.Launch(blocks, 32, 1, out_.address(), std::max<uint64_t>(1, static_cast<uint64_t>(us * rounds_per_us_)));
  }
  uint64_t BeganNs() { return out_.Read()[0]; }

 private:
  driver::Program program_;
  driver::Buffer<uint64_t> out_;
  double rounds_per_us_ = 0;
};

void Hog(Load& load, unsigned blocks, double us, int depth) {
  CUevent halves[2];
  for (CUevent& half : halves) CHECK_CU(cuEventCreate(&half, kDisableTiming));
  const uint64_t begin_ns = tutti::NowNs();
  double kernels = 0;
  // While it waits for one half of what it has launched, the other is queued: the device never waits for it.
  for (int turn = 0; !Ended(); turn ^= 1) {
    for (int i = 0; i < depth; ++i) load.Launch(blocks, us);
    kernels += depth;
    CHECK_CU(cuEventRecord(halves[turn], nullptr));
    CHECK_CU(cuEventSynchronize(halves[turn ^ 1]));
  }
  std::printf("%f\n", kernels * 1e9 / static_cast<double>(tutti::NowNs() - begin_ns));
}

void Ping(Load& load, double us, uint64_t period_ns) {
  std::vector<uint64_t> begun, done;
  for (uint64_t next_ns = tutti::NowNs(); !Ended(); next_ns += period_ns) {
    const uint64_t now_ns = tutti::NowNs();
    if (next_ns > now_ns) {
      usleep(static_cast<useconds_t>((next_ns - now_ns) / 1000));
    } else {
      next_ns = now_ns;
    }
    const uint64_t launched_ns = GlobalNs(), begin_ns = tutti::NowNs();
    load.Launch(1, us);
    CHECK_CU(cuCtxSynchronize());
    done.push_back(tutti::NowNs() - begin_ns);
    const uint64_t began_ns = load.BeganNs();
    begun.push_back(began_ns > launched_ns ? began_ns - launched_ns : 0);
  }
  std::sort(begun.begin(), begun.end());
  std::sort(done.begin(), done.end());
  if (done.empty()) return;
  const size_t last = done.size() - 1;
  std::printf("%lu %lu %lu %lu %zu\n", begun[last / 2], begun[last * 99 / 100], done[last / 2], done[last * 99 / 100],
              done.size());
}

constexpr const char kStray[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry stray() { .reg .b64 %d; mov.u64 %d, 64; "
    "st.global.u64 [%d], %d; ret; }\n";

// Pauses where it is told to; whether it is to go on.
bool GoesOn() {
  if (!Ended()) return true;
  char byte;
  return read(0, &byte, 1) == 1 && read(0, &byte, 1) == 1;
}

void Fault(uint64_t period_us) {
  constexpr int kIllegalAddress = 700;
  std::vector<uint64_t> times;
  while (GoesOn()) {
    bench::OpenDevice();
    const CUfunction stray = bench::GetFunction(bench::LoadModule(kStray), "stray");
    const uint64_t begin_ns = tutti::NowNs();
    CHECK_CU(cuLaunchKernel(stray, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    if (cuCtxSynchronize() != kIllegalAddress) std::exit(1);
    times.push_back(tutti::NowNs() - begin_ns);
    CHECK_CU(cuDevicePrimaryCtxReset_v2(0));
    usleep(static_cast<useconds_t>(period_us));
  }
  std::sort(times.begin(), times.end());
  const size_t last = times.size() - 1;
  std::printf("%lu %lu %zu\n", times[last / 2], times[last * 99 / 100], times.size());
}

bool Begun() {
  std::printf("ready\n");
  std::fflush(stdout);
  char byte;
  return read(0, &byte, 1) == 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto is = [&](const char* mode) { return argc > 1 && std::strcmp(argv[1], mode) == 0; };
  const auto number = [&](int i) { return argc > i ? std::atof(argv[i]) : 1; };
  if (is("fault")) {  // has no memory: each of its contexts loses it
    if (!Begun()) return 1;
    Fault(static_cast<uint64_t>(number(2)));
    return 0;
  }
  Load load;
  if (!Begun()) return 1;
  if (is("hog")) {
    Hog(load, static_cast<unsigned>(number(2)), number(3), static_cast<int>(number(4)));
  } else {
    Ping(load, number(2), static_cast<uint64_t>(number(3) * 1000));
  }
  return 0;
}
