// P3: what a context costs, in device memory and in time. Seen by a watcher with a context of its own, but for the
// first context, which only the management library can see.
#include <cmath>

#include "frame/gpu.h"
#include "frame/numbers.h"
#include "frame/nvml.h"
#include "frame/peer.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "probes/green.h"
#include "probes/probes.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

void Newcomer(Channel& step, std::string_view) {
  const Gpu gpu = OpenGpu();
  step.Say("open", {gpu.init_ms, gpu.context_ms, gpu.kernel_ms});
  step.Hear(20);
}

void First(std::string_view) {
  const CUdevice device = OpenDriver();
  char pci[32] = {};
  CU(cuDeviceGetPCIBusId, &pci[0], 31, device);
  const auto nvml = Nvml::Open(pci);
  const auto before = nvml ? nvml->UsedMib() : std::nullopt;
  Peer newcomer("newcomer");
  const Heard open = newcomer.Expect("open");
  const auto after = nvml ? nvml->UsedMib() : std::nullopt;
  Record record;
  record.Set("cuInit in ms", open.number(0))
      .Set("context in ms", open.number(1))
      .Set("first kernel in ms", open.number(2));
  if (before && after) record.Set("MiB", *after - *before);
  record.Write();
  newcomer.Finish();
}

void Watched(const Peer::Environment& environment) {
  OpenGpu();
  const double before = FreeMib();
  Peer newcomer("newcomer", "", environment);
  const Heard open = newcomer.Expect("open");
  const double after = FreeMib();
  Record()
      .Set("cuInit in ms", open.number(0))
      .Set("context in ms", open.number(1))
      .Set("first kernel in ms", open.number(2))
      .Set("MiB", before - after)
      .Write();
  newcomer.Finish();
}

void Second(std::string_view) { Watched({}); }
void Connections32(std::string_view) { Watched({{"CUDA_DEVICE_MAX_CONNECTIONS", "32"}}); }
void Connections2(std::string_view) { Watched({{"CUDA_DEVICE_MAX_CONNECTIONS", "2"}}); }

void Streams(std::string_view) {
  OpenGpu();
  const int count = Here().Size(1000, 40);
  const double before = FreeMib();
  const Stopwatch time;
  for (int i = 0; i < count; ++i) Launch(Kernel("empty"), 1, 1, NewStream());
  CU(cuCtxSynchronize);
  Record().Set("streams", count).Set("us each", time.us() / count).Set("MiB", before - FreeMib()).Write();
}

void Green(std::string_view) {
  const Gpu gpu = OpenGpu();
  const double before = FreeMib();
  const Stopwatch time;
  const SmGroups split = SplitSms(gpu.device, Here().Size(8u, 1u));
  const GreenContext green = MakeGreenContext(gpu.device, std::span(split.groups).first(1));
  const double ms = time.ms();
  Launch(Kernel("empty"), 1, 1, green.stream);
  CU(cuStreamSynchronize, green.stream);
  Record().Set("ms", ms).Set("MiB", before - FreeMib()).Write();
}

std::string Decide(const Evidence& evidence) {
  auto mib = evidence.Number("P3", "second", "MiB");
  if (!mib) mib = evidence.Number("P3", "first", "MiB");
  const auto ms = evidence.Number("P3", "second", "context in ms");
  const auto total = evidence.Number("start", "look", "memory in MiB");
  if (!ms || !total) return evidence.Undecided("P3");
  if (!mib || *mib <= 0) return "undecided: a context costs " + Show(*ms) + " ms, but nobody saw it take memory";
  std::string text = *mib <= 0.01 * *total ? "a standby executor is kept: it costs " : "no standby: it would cost ";
  text += Show(*mib) + " MiB and saves " + Show(*ms) + " ms; a tenth of the card holds " +
          Show(std::floor(0.1 * *total / *mib)) + " executors of `process`";
  if (const auto under = evidence.Number("P3", "mps", "MiB"))
    text += ", and of `nested` (" + Show(*under) + " MiB) " +
            (*under > 0 ? Show(std::floor(0.1 * *total / *under)) : "many");
  return text;
}

constexpr Role kRoles[] = {{"newcomer", Newcomer}};
constexpr Step kSteps[] = {{"first", First, 12},
                           {"second", Second, 12},
                           {"connections_32", Connections32, 12},
                           {"connections_2", Connections2, 12},
                           {"streams", Streams, 10},
                           {"green", Green, 10},
                           {"mps", Second, 15, true}};

}  // namespace

const Probe kP3{"P3", "What does a context cost: device memory, time, connections, streams, a green context?", kSteps,
                kRoles, Decide};

}  // namespace tutti::gpu
