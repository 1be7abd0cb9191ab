// P12: launches a second, of threads of one context and of processes.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "cuda/result.h"
#include "frame/gpu.h"
#include "frame/numbers.h"
#include "frame/peer.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "probes/probes.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

constexpr int kBurst = 512;  // launches between waits: below what a stream takes at once

// Launches empty kernels for so long; how many a second.
double LaunchFor(CUstream stream, CUfunction empty, double seconds) {
  const Stopwatch time;
  uint64_t launched = 0;
  while (time.seconds() < seconds) {
    for (int i = 0; i < kBurst; ++i) {
      if (TryLaunch(empty, 1, 1, stream) == CUDA_SUCCESS) ++launched;
    }
    CU_TRY(cuStreamSynchronize, stream);
  }
  return static_cast<double>(launched) / time.seconds();
}

double Seconds() { return Here().Size(0.7, 0.05); }

void Launcher(Channel& step, std::string_view) {
  OpenGpu();
  const CUstream stream = NewStream();
  const CUfunction empty = Kernel("empty");
  LaunchFor(stream, empty, 0.02);
  step.Say("ready");
  step.Hear(20);
  step.Say("rate", {LaunchFor(stream, empty, Seconds())});
}

void Threads(std::string_view) {
  const Gpu gpu = OpenGpu();
  const CUfunction empty = Kernel("empty");
  for (const int count : {1, 2, 4, 8}) {
    std::vector<double> rates(static_cast<size_t>(count));
    std::vector<std::thread> threads;
    std::atomic<int> ready = 0;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        CU(cuCtxSetCurrent, gpu.context);
        const CUstream stream = NewStream();
        LaunchFor(stream, empty, 0.01);
        ++ready;
        while (ready < count) std::this_thread::yield();
        rates[static_cast<size_t>(i)] = LaunchFor(stream, empty, Seconds());
      });
    }
    for (std::thread& thread : threads) thread.join();
    double sum = 0;
    for (const double rate : rates) sum += rate;
    Record().Set("in", "one context").Set("submitters", count).Set("launches a second", sum).Write();
  }
}

void Processes(std::string_view) {
  for (const int count : {1, 2, 4, 8}) {
    if (Here().small && count > 2) break;
    std::vector<Peer> peers;
    for (int i = 0; i < count; ++i) peers.emplace_back("launcher");
    for (Peer& peer : peers) peer.Expect("ready");
    for (Peer& peer : peers) peer.channel().Say("go");
    double sum = 0;
    for (Peer& peer : peers) sum += peer.Expect("rate").number(0);
    Record().Set("in", "processes").Set("submitters", count).Set("launches a second", sum).Write();
  }
}

std::optional<double> Rate(const Evidence& evidence, std::string_view step, double submitters) {
  for (const Row* row : evidence.Of("P12", step)) {
    if (row->Number("submitters") == submitters) return row->Number("launches a second");
  }
  return std::nullopt;
}

std::string Decide(const Evidence& evidence) {
  const auto one = Rate(evidence, "threads", 1), two = Rate(evidence, "threads", 2);
  if (!one || !two || *one <= 0) return evidence.Undecided("P12");
  double best = *one, threads = 1;
  for (const double count : {2.0, 4.0, 8.0}) {
    // Each further thread must bring a quarter of what one does, or it is not worth a core.
    const auto rate = Rate(evidence, "threads", count);
    if (rate && *rate >= best + 0.25 * *one * (count - threads)) {
      best = *rate;
      threads = count;
    }
  }
  std::string text = "submit threads of an executor: " + Show(threads) + " (" + Show(best / 1e6) +
                     " M launches/s; one: " + Show(*one / 1e6) + " M)";
  if (const auto eight = Rate(evidence, "processes", 8)) {
    text += "; 8 processes: " + Show(*eight / 1e6) + " M, so `auto` moves clients that launch much " +
            (*eight > 1.5 * best ? "to `nested`" : "nowhere: processes are not faster");
  }
  return text;
}

constexpr Role kRoles[] = {{"launcher", Launcher}};
constexpr Step kSteps[] = {{"threads", Threads, 10}, {"processes", Processes, 25}};

}  // namespace

const Probe kP12{"P12", "How many launches a second do 1, 2, 4, 8 threads of one context make, and as many processes?",
                 kSteps, kRoles, Decide};

}  // namespace tutti::gpu
