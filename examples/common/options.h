// The command line of every example, and its result line.
//
//   --rounds N   how often the device does the work (default given by the example)
//   --blocks B   thread blocks per launch: 0 = as many as the problem has (default given by the example)
//   --seconds S  work for at least S seconds instead of counting rounds
//
// Exit status: 0 if every result equals the host's, 1 if not, 2 if CUDA reported an error, 3 for a wrong command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace example {

struct Options {
  uint32_t rounds = 1;
  uint32_t blocks = 0;
  double seconds = 0;
};

inline Options Parse(int argc, char** argv, Options options) {
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (has_value && std::strcmp(argv[i], "--rounds") == 0) {
      options.rounds = static_cast<uint32_t>(std::strtoul(argv[++i], nullptr, 10));
    } else if (has_value && std::strcmp(argv[i], "--blocks") == 0) {
      options.blocks = static_cast<uint32_t>(std::strtoul(argv[++i], nullptr, 10));
    } else if (has_value && std::strcmp(argv[i], "--seconds") == 0) {
      options.seconds = std::strtod(argv[++i], nullptr);
    } else {
      std::fprintf(stderr, "usage: %s [--rounds N] [--blocks B] [--seconds S]\n", argv[0]);
      std::exit(std::strcmp(argv[i], "--help") == 0 ? 0 : 3);
    }
  }
  return options;
}

// Counts rounds and time: `while (loop.Next()) { one round }`.
class Loop {
 public:
  explicit Loop(const Options& options) : options_(options), begin_(Clock::now()) {}
  bool Next() {
    const bool more = options_.seconds > 0 ? Seconds() < options_.seconds : rounds_ < options_.rounds;
    if (more) ++rounds_;
    return more;
  }
  uint32_t rounds() const { return rounds_; }
  double Seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Options options_;
  Clock::time_point begin_;
  uint32_t rounds_ = 0;
};

// Prints the result line and returns the exit status of the program.
inline int Report(const char* name, const Loop& loop, double seconds, uint64_t checked, uint64_t wrong) {
  std::printf("%s: %u rounds in %.3f s, %llu results checked against the host, %llu wrong\n", name, loop.rounds(),
              seconds, static_cast<unsigned long long>(checked), static_cast<unsigned long long>(wrong));
  return wrong == 0 ? 0 : 1;
}

// Pseudo-random numbers, the same everywhere.
inline uint32_t Hash(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

}  // namespace example
