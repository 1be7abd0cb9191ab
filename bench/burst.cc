// burst: a kernel with a block for each SM, beside one with a single block, after a pause in which all SMs went to
// sleep: what it costs to wake them, and whether each gets a core. And what it costs to wait for a short one.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "driver.h"
#include "report.h"
#include "timing.h"

EMBED_TEXT(ptx, "load/load.ptx");

extern "C" int cuDeviceGetAttribute(int* value, int attribute, CUdevice device);

namespace {

class Work {
 public:
  Work() : program_(ptx, "work"), out_(33) {
    constexpr uint64_t kRounds = 200'000;
    Run(1, 1);
    const std::vector<double> ns = bench::TimeEach(20, [&] { Run(1, kRounds); });
    rounds_per_us_ = static_cast<double>(kRounds) * 1000 / *std::min_element(ns.begin(), ns.end());
  }
  // In us, from the launch to its end.
  double TimeOf(unsigned blocks, double block_us) {
    return bench::TimeEach(1, [&] { Run(blocks, static_cast<uint64_t>(block_us * rounds_per_us_)); })[0] / 1000;
  }

 private:
  void Run(unsigned blocks, uint64_t rounds) { program_.Run(blocks, 32, 1, out_.address(), rounds); }

  driver::Program program_;
  driver::Buffer<uint64_t> out_;
  double rounds_per_us_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  const int turns = argc > 2 ? std::atoi(argv[2]) : 200;
  constexpr int kMultiprocessorCount = 16;  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
  bench::OpenDevice();
  int sms = 0;
  CHECK_CU(cuDeviceGetAttribute(&sms, kMultiprocessorCount, 0));
  Work work;
  bench::Report report("burst",
                       "launch to end after a pause, medians of turns; ratio: a block for each SM / a single block, "
                       "aim: at most 1.25; and a short block that is waited for / the time that it runs");
  for (const double block_us : {100.0, 300.0, 1000.0}) {
    for (const unsigned pause_us : {0u, 1000u, 3000u}) {
      std::vector<double> all_us, one_us;
      for (int turn = 0; turn < turns; ++turn) {
        const auto measure = [&](unsigned blocks, std::vector<double>& times) {
          if (pause_us != 0) usleep(pause_us);
          times.push_back(work.TimeOf(blocks, block_us));
        };
        measure(1, one_us);
        measure(static_cast<unsigned>(sms), all_us);
      }
      const bench::Statistics all = bench::Summarize(all_us), one = bench::Summarize(one_us);
      report.Add({fmt::format("{} blocks of {:g} us after {:g} ms", sms, block_us, pause_us / 1000.0), all.median, "us",
                  one.median, "one block", all.median / one.median, all.spread});
    }
  }
  // Behind waits that were worth no spinning.
  for (const double block_us : {5.0, 20.0}) {
    std::vector<double> us;
    for (int turn = 0; turn < 10 * turns; ++turn) us.push_back(work.TimeOf(1, block_us));
    const bench::Statistics waited = bench::Summarize(us);
    report.Add({fmt::format("a block of {:g} us, waited for, behind longer ones", block_us), waited.median, "us",
                block_us, "the block itself", waited.median / block_us, waited.spread});
  }
  return report.Finish(out);
}
