// P22: how many launches a held stream takes before the call waits, and whether another stream's launches wait, too.
#include <atomic>
#include <thread>

#include "frame/gpu.h"
#include "frame/numbers.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "probes/probes.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

void Fill(std::string_view) {
  const Gpu gpu = OpenGpu();
  const CUfunction empty = Kernel("empty");
  const CUstream held = NewStream(), free = NewStream();
  Launch(empty, 1, 1, free);
  CU(cuCtxSynchronize);
  const uint64_t most = Here().Size<uint64_t>(20'000, 500);
  Holder holder;
  holder.Start(held, 4000);
  std::atomic<uint64_t> launched = 0, others = 0;
  std::atomic<bool> full = false, done = false;
  double longest_ms = 0;
  std::thread filler([&] {
    CU(cuCtxSetCurrent, gpu.context);
    while (launched < most && !full) {
      Launch(empty, 1, 1, held);
      ++launched;
    }
    done = true;
  });
  // No progress for 50 ms: it is full. Then the other stream is tried from a third thread, since that may wait, too.
  uint64_t seen = 0;
  Stopwatch since;
  while (!done) {
    if (launched != seen) {
      seen = launched;
      since = Stopwatch();
    } else if (since.ms() > 50) {
      full = true;
      break;
    }
    std::this_thread::yield();
  }
  seen = launched;
  std::atomic<bool> other_done = false;
  std::thread other([&] {
    CU(cuCtxSetCurrent, gpu.context);
    const Stopwatch time;
    for (int i = 0; i < 10; ++i) {
      Launch(empty, 1, 1, free);
      ++others;
    }
    CU(cuStreamSynchronize, free);
    longest_ms = time.ms();
    other_done = true;
  });
  const Stopwatch waiting;
  while (!other_done && waiting.ms() < 500) std::this_thread::yield();
  const bool others_went_on = other_done;
  holder.Release();
  filler.join();
  other.join();
  CU(cuCtxSynchronize);
  Record()
      .Set("launches taken", seen)
      .Set("then the call waited", full.load())
      .Set("another stream's launches went on", others_went_on)
      .Set("and took ms", longest_ms)
      .Write();
}

std::string Decide(const Evidence& evidence) {
  const auto taken = evidence.Number("P22", "fill", "launches taken");
  const auto waited = evidence.Truth("P22", "fill", "then the call waited"),
             others = evidence.Truth("P22", "fill", "another stream's launches went on");
  if (!taken || !waited || !others) return evidence.Undecided("P22");
  if (!*waited)
    return "256 records in flight per stream are safe: " + Show(*taken) + " launches were taken without waiting";
  const std::string limit = *taken >= 512 ? "256" : Show(*taken / 2);
  return limit + " records in flight per stream: the call waits behind " + Show(*taken) +
         (*others ? "; other streams do not"
                  : ", and every other stream with it: the limit is on all streams together");
}

constexpr Step kSteps[] = {{"fill", Fill, 12}};

}  // namespace

const Probe kP22{"P22",
                 "How many launches does a held stream take before the call waits, and do other streams wait, too?",
                 kSteps,
                 {},
                 Decide};

}  // namespace tutti::gpu
