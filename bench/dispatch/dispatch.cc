// dispatch: the way of a launch on a GPU, from the server's Space to the call of the vendor's driver, which does
// nothing (null_vendor.cc). Latency: launches 3 us apart, so that the executor is awake. Rate: of launches one behind
// the other, until the last is done.
#include <x86intrin.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "device/gpu/gpu_backend.h"
#include "raw.h"
#include "report.h"
#include "timing.h"

namespace {

using namespace tutti;
using namespace tutti::device;

class CountingSink final : public Sink {
 public:
  bool Completed(uint32_t, uint64_t ticket) override {
    done_.store(ticket, std::memory_order_release);
    return false;
  }
  void Wake(uint32_t) override {}
  void EventReached(uint32_t, uint64_t) override {}
  void HostCallReached(uint32_t, uint64_t, int32_t) override {}
  void Printed(std::string_view) override {}
  void AssertFailed(std::string_view) override {}
  void Faulted(uint32_t, const Fault& fault) override {
    std::fprintf(stderr, "dispatch: %s\n", fault.report.c_str());
    std::_Exit(1);
  }
  void MemoryUsed(uint32_t, uint64_t) override {}
  void Await(uint64_t ticket) const {
    while (done_.load(std::memory_order_acquire) < ticket) CpuRelax();
  }

 private:
  std::atomic<uint64_t> done_{0};
};

template <typename Value>
Value Must(Result<Value> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "dispatch: %s\n", result.error().text.c_str());
  std::_Exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  const gpu::GpuSettings settings{.executor = TUTTI_EXECUTOR, .vendor = TUTTI_NULL_VENDOR};
  const auto backend = Must(gpu::CreateGpuBackend(settings, Must(os::Spawner::Start({settings.ProgramOf()}))));
  CountingSink sink;
  const auto space = Must(backend->CreateSpace({}, &sink, "dispatch"));
  constexpr uint32_t kStream = 1;
  (void)space->CreateStream(kStream, {.non_blocking = true});
  constexpr size_t kSingle = 20'000, kRounds = 20, kLaunches = 100'000;
  const uint64_t words = Must(space->Allocate(0, wire::MemoryKind::kHost, kSingle * sizeof(uint64_t), 0));
  const uint32_t block[3] = {1, 1, 1};
  const uint8_t image[] = "stamp";
  const uint32_t module = Must(space->LoadModule(0, image)).id;
  const uint32_t kernel = Must(space->Prepare(module, 0, block)).id;
  uint64_t ticket = 0;
  const auto launch = [&](uint64_t result) {
    const uint64_t arguments[2] = {__rdtsc(), result};
    const Grid grid{.kernel = kernel, .arguments = {reinterpret_cast<const uint8_t*>(arguments), sizeof arguments}};
    (void)space->Launch(kStream, ++ticket, grid);
  };

  std::vector<double> latencies, rates;
  constexpr uint64_t kApartNs = 3000;
  for (uint64_t i = 0, next = NowNs(); i < kSingle; ++i, next = NowNs() + kApartNs) {
    while (NowNs() < next) CpuRelax();
    launch(words + i * sizeof(uint64_t));
  }
  sink.Await(ticket);
  const auto* const ticks = reinterpret_cast<const uint64_t*>(space->Reached(words, kSingle * sizeof(uint64_t)));
  for (size_t i = kSingle / 10; i < kSingle; ++i)
    latencies.push_back(static_cast<double>(ticks[i]) * bench::NsPerTick());
  for (size_t round = 0; round < kRounds; ++round) {
    const uint64_t begin = NowNs();
    for (size_t i = 0; i < kLaunches; ++i) launch(0);
    sink.Await(ticket);
    rates.push_back(kLaunches * 1e3 / static_cast<double>(NowNs() - begin));
  }
  std::vector<double> trips = bench::SpinRoundTrips(kSingle);
  for (double& trip : trips) trip /= 2;
  std::vector<double> raw = bench::RawRingRecords(kLaunches);
  const bench::Statistics latency = bench::Summarize(latencies), rate = bench::Summarize(rates);
  const bench::Statistics trip = bench::Summarize(trips), record = bench::Summarize(raw);
  bench::Report report("dispatch", "aims: at most 1000 ns to the driver's call, at least 2 million records a second");
  report.Add({"Launch to the driver's call, p50", latency.median, "ns", trip.median, "one way between two threads",
              latency.median / trip.median, latency.spread});
  report.Add({"launches done", rate.median, "M/s", 1e3 / record.median, "records of a raw ring",
              rate.median * record.median / 1e3, rate.spread});
  return report.Finish(out);
}
