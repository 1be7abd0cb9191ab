// Timing for benchmarks: the cheapest clock there is, and repetition.
#pragma once

#include <time.h>
#include <x86intrin.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"

namespace bench {

// Nanoseconds per tick of the time stamp counter, measured against CLOCK_MONOTONIC over 50 ms.
inline double NsPerTick() {
  static const double value = [] {
    const uint64_t begin_ns = tutti::NowNs(), begin = __rdtsc();
    while (tutti::NowNs() - begin_ns < 50'000'000) {
    }
    return static_cast<double>(tutti::NowNs() - begin_ns) / static_cast<double>(__rdtsc() - begin);
  }();
  return value;
}

// Processor time of the calling thread, for what needs one core of a machine that others may be using.
inline double ThreadMs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Durations in ns of `count` calls of `body`, each timed on its own. The clock's own cost (about 10 ns) is in each
// sample.
template <typename Body>
std::vector<double> TimeEach(size_t count, Body body) {
  std::vector<double> samples(count);
  const double scale = NsPerTick();
  for (double& sample : samples) {
    const uint64_t begin = __rdtsc();
    body();
    unsigned processor;
    sample = static_cast<double>(__rdtscp(&processor) - begin) * scale;
  }
  return samples;
}

}  // namespace bench
