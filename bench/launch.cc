// launch: the cost of cuLaunchKernel of an empty kernel to the caller, beside a raw ring record. Launches come in
// bursts that fit the ring, with a synchronisation between: this measures enqueueing, not the device.
#include "driver.h"
#include "raw.h"
#include "report.h"
#include "timing.h"

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  bench::OpenDevice();
  const CUfunction empty = bench::GetFunction(bench::LoadModule(bench::kEmptyKernel), "empty");
  constexpr size_t kBurst = 256, kBursts = 200;
  std::vector<double> launches;
  for (size_t burst = 0; burst < kBursts; ++burst) {
    const std::vector<double> samples = bench::TimeEach(kBurst, [&] { bench::Launch(empty, 1, 1, 1, 1, nullptr); });
    CHECK_CU(cuCtxSynchronize());
    if (burst >= kBursts / 10) launches.insert(launches.end(), samples.begin(), samples.end());
  }
  std::vector<double> raw = bench::RawRingRecords(kBurst * kBursts);
  const bench::Statistics launch = bench::Summarize(launches), record = bench::Summarize(raw);
  bench::Report report("launch", "ratio: launch / raw record; aim: p50 at most 3");
  report.Add({"cuLaunchKernel p50", launch.median, "ns", record.median, "raw 128-byte ring record p50",
              launch.median / record.median, launch.spread});
  report.Add(
      {"cuLaunchKernel p99", launch.p99, "ns", record.p99, "raw 128-byte ring record p99", launch.p99 / record.p99, 0});
  return report.Finish(out);
}
