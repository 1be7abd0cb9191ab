// memory_race: allocations per second when 64 threads of one process race for memory under a limit that does not
// suffice for all of them, beside one thread alone under the same limit. Each thread allocates and frees pieces of 4
// KiB to 1 MiB and holds a few at a time; refusals count separately. At no time may more be held than the limit.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "driver.h"
#include "report.h"
#include "timing.h"

extern "C" {
int cuMemGetInfo_v2(size_t* free, size_t* total);
int cuCtxGetCurrent(CUcontext* context);
}

namespace {

constexpr size_t kLimit = 64u << 20;
constexpr size_t kHeld = 8;

struct Count {
  std::atomic<uint64_t> granted{0}, refused{0}, held_bytes{0}, most_bytes{0};
};

void Note(Count& count, size_t bytes) {
  const uint64_t held = count.held_bytes.fetch_add(bytes) + bytes;
  uint64_t most = count.most_bytes.load();
  while (most < held && !count.most_bytes.compare_exchange_weak(most, held)) {
  }
}

void Race(CUcontext context, int seed, const std::atomic<bool>& stop, Count& count) {
  CHECK_CU(cuCtxSetCurrent(context));
  std::mt19937 random(static_cast<unsigned>(seed));
  struct Piece {
    CUdeviceptr address = 0;
    size_t bytes = 0;
  };
  Piece pieces[kHeld];
  const auto give = [&](const Piece& piece) {
    if (piece.address == 0) return;
    count.held_bytes -= piece.bytes;
    CHECK_CU(cuMemFree_v2(piece.address));
  };
  for (size_t i = 0; !stop.load(std::memory_order_relaxed); i = (i + 1) % kHeld) {
    Piece& piece = pieces[i];
    give(piece);
    piece = {.bytes = size_t{4096} << random() % 9};
    if (cuMemAlloc_v2(&piece.address, piece.bytes) == 0) {
      Note(count, piece.bytes);
      ++count.granted;
    } else {
      piece.address = 0;
      ++count.refused;
    }
  }
  for (const Piece& piece : pieces) give(piece);
}

struct Rates {
  double granted, refused, most;
};

Rates Measure(CUcontext context, int threads, double seconds) {
  Count count;
  std::atomic<bool> stop{false};
  std::vector<std::thread> racers;
  const uint64_t begin_ns = tutti::NowNs();
  for (int i = 0; i < threads; ++i) racers.emplace_back([&, i] { Race(context, i, stop, count); });
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  for (std::thread& racer : racers) racer.join();
  const double took_s = static_cast<double>(tutti::NowNs() - begin_ns) * 1e-9;
  return {static_cast<double>(count.granted) / took_s, static_cast<double>(count.refused) / took_s,
          static_cast<double>(count.most_bytes)};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  const double seconds = argc > 2 ? std::atof(argv[2]) : 3;
  setenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=64M", 1);
  bench::OpenDevice();
  CUcontext context = nullptr;
  CHECK_CU(cuCtxGetCurrent(&context));
  const Rates alone = Measure(context, 1, seconds), racing = Measure(context, 64, seconds);
  bench::Report report("memory_race", "ratio: 64 threads / one; held at most must not be above 1");
  report.Add({"64 threads, limit 64 MiB: granted", racing.granted, "1/s", alone.granted, "one thread",
              racing.granted / alone.granted, 0});
  report.Add({"64 threads, limit 64 MiB: refused", racing.refused, "1/s", alone.refused, "one thread", 0, 0});
  report.Add({"64 threads: held at most", racing.most, "B", static_cast<double>(kLimit), "limit",
              racing.most / static_cast<double>(kLimit), 0});
  const int status = report.Finish(out);
  if (racing.most <= static_cast<double>(kLimit)) return status;
  std::fprintf(stderr, "memory_race: more was held than the limit allows\n");
  return 1;
}
