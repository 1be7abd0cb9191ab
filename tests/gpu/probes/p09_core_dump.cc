// P9: the driver's lightweight core dump: what it costs, and whether it names the kernel that failed.
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "cuda/result.h"
#include "frame/files.h"
#include "frame/gpu.h"
#include "frame/numbers.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "probes/fault_kernels.h"
#include "probes/probes.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

template <typename T>
void SetGlobal(int attribute, T value) {
  size_t bytes = sizeof value;
  CU(cuCoredumpSetAttributeGlobal, attribute, static_cast<void*>(&value), &bytes);
}

double LaunchUs(CUstream stream) {
  const CUfunction empty = Kernel("empty");
  const int count = Here().Size(2000, 50);
  const Stopwatch time;
  for (int i = 0; i < count; ++i) {
    Launch(empty, 1, 1, stream);
    CU(cuStreamSynchronize, stream);
  }
  return time.us() / count;
}

void FailWithDump(std::string_view step) {
  OpenDriver();
  const bool dump = step == "with";
  std::string file = Here().scratch + "/gpu.core";
  if (dump) {
    SetGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, true);
    SetGlobal(CU_COREDUMP_GENERATION_FLAGS, kLightweightCoredump);
    size_t bytes = file.size() + 1;
    CU(cuCoredumpSetAttributeGlobal, static_cast<int>(CU_COREDUMP_FILE), static_cast<void*>(file.data()), &bytes);
  }
  const Gpu gpu = OpenGpu();
  const CUstream stream = NewStream();
  const double launch_us = LaunchUs(stream);
  Culprit culprit(gpu.device, "far_write");
  culprit.Launch(stream);
  const FirstError error = AwaitError(stream, 8);
  struct stat about{};
  const bool there = stat(file.c_str(), &about) == 0;
  Record record;
  record.Set("dump", dump)
      .Set("launch and wait, us", launch_us)
      .Set("context in ms", gpu.context_ms)
      .Set("error", NameOf(error.result))
      .Set("ms to the error", error.ms);
  if (dump)
    record.Set("file in KiB", there ? static_cast<double>(about.st_size) / 1024 : 0)
        .Set("it names the kernel", there && FileContains(file, "culprit"));
  record.Write();
  unlink(file.c_str());
}

std::string Decide(const Evidence& evidence) {
  const auto names = evidence.Truth("P9", "with", "it names the kernel");
  const auto with = evidence.Number("P9", "with", "ms to the error"),
             without = evidence.Number("P9", "without", "ms to the error");
  const auto slow = evidence.Number("P9", "with", "launch and wait, us"),
             fast = evidence.Number("P9", "without", "launch and wait, us");
  if (!names || !with || !without || !slow || !fast) return evidence.Undecided("P9", "with");
  if (!*names) return "core dumps do not name the kernel: suspects are tried one by one (probation)";
  const bool cheap = *slow <= 1.02 * *fast && *with - *without <= 100;
  return std::string(cheap ? "lightweight core dumps are on and name the culprit"
                           : "core dumps name the culprit, but only on probation") +
         ": launch " + Show(*fast) + " -> " + Show(*slow) + " us, error " + Show(*without) + " -> " + Show(*with) +
         " ms";
}

constexpr Step kSteps[] = {{"without", FailWithDump, 12}, {"with", FailWithDump, 14}};

}  // namespace

const Probe kP9{"P9", "What does a lightweight core dump cost, and does it name the kernel?", kSteps, {}, Decide};

}  // namespace tutti::gpu
