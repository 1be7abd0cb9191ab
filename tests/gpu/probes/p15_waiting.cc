// P15: ways to wait for a kernel: how late they wake, and what they cost the CPU.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <vector>

#include "frame/gpu.h"
#include "frame/numbers.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "probes/probes.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

double CpuUs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// Kernels of `us`, each waited for in this way: what the wait adds to the kernel, and its part of CPU time.
template <typename Wait>
void Measure(const char* way, double us, CUstream stream, const Wait& wait) {
  const CUfunction spin = Kernel("spin");
  std::vector<double> times;
  const double cpu = CpuUs();
  const Stopwatch all;
  for (int i = 0; i < Here().Size(300, 5); ++i) {
    const Stopwatch time;
    Launch(spin, 1, 1, stream, static_cast<uint64_t>(us * 1e3));
    wait(time);
    times.push_back(time.us() - us);
  }
  Record()
      .Set("way", way)
      .Set("kernel, us", us)
      .Set("added, median us", Median(times))
      .Set("p99", Quantile(times, 0.99))
      .Set("CPU, part of a core", (CpuUs() - cpu) / all.us())
      .Write();
}

void Wait(std::string_view) {
  OpenGpu();
  const CUstream stream = NewStream();
  CUevent blocking = nullptr;
  CU(cuEventCreate, &blocking, static_cast<unsigned>(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING));
  for (const double us : {20.0, 200.0, 2000.0}) {
    Measure("poll the stream", us, stream, [&](const Stopwatch&) {
      while (CU_TRY(cuStreamQuery, stream) != 0) {
      }
    });
    Measure("cuStreamSynchronize", us, stream, [&](const Stopwatch&) { CU(cuStreamSynchronize, stream); });
    Measure("blocking event", us, stream, [&](const Stopwatch&) {
      CU(cuEventRecord, blocking, stream);
      CU(cuEventSynchronize, blocking);
    });
    // The pilot's way: asleep for a sixteenth of the age.
    Measure("sleep and poll", us, stream, [&](const Stopwatch& time) {
      while (CU_TRY(cuStreamQuery, stream) != 0) {
        const auto ns = static_cast<long>(std::clamp(time.us() / 16, 5.0, 500.0) * 1e3);
        const timespec pause{0, ns};
        nanosleep(&pause, nullptr);
      }
    });
  }
}

// By words that the stream writes, which costs no call of the driver.
void WaitForMarks(std::string_view) {
  OpenGpu();
  const CUstream stream = NewStream();
  SharedWords word(1);
  uint64_t next = 0;
  for (const double us : {20.0, 200.0, 2000.0}) {
    Measure("poll a mark", us, stream, [&](const Stopwatch& time) {
      CU(cuStreamWriteValue64_v2, stream, word.at(0), ++next, 0u);
      while (word[0] != next && time.seconds() < 2) {
      }
    });
  }
}

std::string Decide(const Evidence& evidence) {
  const auto added = [&](std::string_view way, double us, const char* what) -> std::optional<double> {
    for (const Row* row : evidence.Of("P15")) {
      if (row->Text("way") == way && row->Number("kernel, us") == us) return row->Number(what);
    }
    return std::nullopt;
  };
  const auto poll = added("poll the stream", 200, "added, median us"),
             sleep = added("sleep and poll", 200, "added, median us"),
             block = added("blocking event", 200, "added, median us");
  if (!poll || !sleep || !block) return evidence.Undecided("P15");
  const auto cpu = added("sleep and poll", 2000, "CPU, part of a core");
  return (*sleep - *poll <= 20 ? std::string("the pilot sleeps for a sixteenth of the age")
          : *block <= *sleep   ? std::string("the pilot waits by a blocking event")
                               : std::string("the pilot polls for longer before it sleeps")) +
         ": behind kernels of 200 us it is " + Show(*sleep - *poll) + " us later than polling, a blocking event " +
         Show(*block - *poll) + " us" + (cpu ? "; " + Show(100 * *cpu) + "% of a core behind kernels of 2 ms" : "");
}

constexpr Step kSteps[] = {{"wait", Wait, 14}, {"marks", WaitForMarks, 8}};

}  // namespace

const Probe kP15{"P15", "How late does each way of waiting wake, and what does it cost?", kSteps, {}, Decide};

}  // namespace tutti::gpu
