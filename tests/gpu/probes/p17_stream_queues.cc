// P17: streams share hardware queues; who shares one with a stream that is held waits with it.
#include <cstdlib>
#include <vector>

#include "frame/gpu.h"
#include "frame/numbers.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "probes/green.h"
#include "probes/probes.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

// The first stream is held, with a second kernel behind; a kernel in each other one. How many are not done after a
// while.
void CountStalled(const std::vector<CUstream>& streams, const char* what) {
  const CUfunction empty = Kernel("empty");
  for (const CUstream stream : streams) Launch(empty, 1, 1, stream);
  CU(cuCtxSynchronize);
  Holder holder;
  holder.Start(streams[0], Here().Size(1500, 400));
  Launch(empty, 1, 1, streams[0]);
  const Stopwatch time;
  for (size_t i = 1; i < streams.size(); ++i) Launch(empty, 1, 1, streams[i]);
  const double launch_ms = time.ms();
  const double patience_ms = Here().Size(200, 100);
  size_t stalled = 0;
  do {
    stalled = 0;
    for (size_t i = 1; i < streams.size(); ++i) stalled += CU_TRY(cuStreamQuery, streams[i]) != 0 ? 1 : 0;
  } while (stalled > 0 && time.ms() < patience_ms);
  holder.Release();
  CU(cuCtxSynchronize);
  Record()
      .Set("connections", what)
      .Set("streams", streams.size())
      .Set("stalled", stalled)
      .Set("ms to launch into all", launch_ms)
      .Write();
}

void Connections(std::string_view step) {
  const std::string count(step.substr(step.rfind('_') + 1));
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", count.c_str(), 1);
  OpenGpu();
  std::vector<CUstream> streams;
  for (int i = 0; i < 64; ++i) streams.push_back(NewStream());
  CountStalled({streams.begin(), streams.begin() + 8}, count.c_str());
  CountStalled({streams.begin(), streams.begin() + 33}, count.c_str());
  CountStalled(streams, count.c_str());
}

// The held stream is in one green context, the others in another.
void Green(std::string_view) {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  const Gpu gpu = OpenGpu();
  const SmGroups split = SplitSms(gpu.device, Here().Size(8u, 1u));
  if (split.groups.size() < 2) GiveUp(Outcome::kLacks, "the device has fewer than 2 groups");
  const GreenContext one = MakeGreenContext(gpu.device, std::span(split.groups).first(1)),
                     two = MakeGreenContext(gpu.device, std::span(split.groups).subspan(1, 1));
  std::vector<CUstream> streams = {one.stream};
  for (int i = 0; i < 63; ++i) {
    CUstream stream = nullptr;
    CU(cuGreenCtxStreamCreate, &stream, two.context, static_cast<unsigned>(CU_STREAM_NON_BLOCKING), 0);
    streams.push_back(stream);
  }
  CountStalled(streams, "32, the others in another green context");
}

std::string Decide(const Evidence& evidence) {
  std::optional<double> at_33, at_64;
  for (const Row* row : evidence.Of("P17", "connections_32")) {
    if (row->Number("streams") == 33.0) at_33 = row->Number("stalled");
    if (row->Number("streams") == 64.0) at_64 = row->Number("stalled");
  }
  if (!at_33 || !at_64) return evidence.Undecided("P17");
  const auto green = evidence.Number("P17", "green", "stalled");
  std::string text = *at_64 == 0 ? "streams are lent freely: of 64 none waits for one that is held"
                                 : "at most 32 streams are lent at once: of 64 " + Show(*at_64) +
                                       " wait for one that is held, of 33 " + Show(*at_33);
  if (green && *at_64 > 0)
    text += *green == 0 ? "; green contexts have queues of their own" : "; green contexts share them, too";
  return text;
}

constexpr Step kSteps[] = {
    {"connections_32", Connections, 10}, {"connections_8", Connections, 10}, {"green", Green, 10}};

}  // namespace

const Probe kP17{
    "P17", "One of many streams is held by a long kernel: how many others wait with it?", kSteps, {}, Decide};

}  // namespace tutti::gpu
