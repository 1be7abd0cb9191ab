// What several processes get of one GPU today, by time slices and under NVIDIA's MPS: what there is to beat.
#include <string>

#include "frame/peer.h"
#include "frame/probe.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "sharing/sharing.h"
#include "sharing/work.h"

namespace tutti::gpu {
namespace {

const char* How(std::string_view step) { return step == "mps" ? "NVIDIA MPS" : "time slices"; }

void Kernels(std::string_view step) {
  std::vector<Peer> workers;
  for (int i = 0; i < Here().Size(8, 2); ++i) workers.emplace_back("worker");
  for (Peer& worker : workers) worker.Expect("ready");
  for (const Work& work : KernelWork()) {
    for (size_t count = 1; count <= workers.size(); count *= 2)
      Together(workers, count, work, Here().Size(1.0, 0.05), How(step));
    if (Here().small) break;
  }
}

void Models(std::string_view step) {
  std::vector<Peer> workers;
  for (int i = 0; i < 8; ++i) workers.push_back(StartModelWorker());
  for (Peer& worker : workers) worker.Expect("ready", 60);
  for (const Work& work : ModelWork()) {
    for (size_t count = 8; count >= 2; count /= 2) Together(workers, count, work, 2, How(step));
  }
}

// The best and the worst that all processes together got, of both ways.
std::string Anchor(const Evidence& evidence, std::string_view probe, std::string_view work) {
  std::string text;
  for (const char* step : {"sliced", "mps"}) {
    for (const Row* row : evidence.Of(probe, step)) {
      if (row->Text("work") != work || row->Number("processes") != 8.0) continue;
      text += (text.empty() ? "" : ", ") + row->Text("how") + " " +
              Show(row->Number("a second, together").value_or(0)) + "/s (p99 " +
              Show(row->Number("p99, ms").value_or(0)) + " ms)";
    }
  }
  return text;
}

std::string DecideKernels(const Evidence& evidence) {
  const std::string anchor = Anchor(evidence, "S1", "kernels of about 50 us");
  return anchor.empty() ? evidence.Undecided("S1") : "to beat with 8 processes and kernels of 50 us: " + anchor;
}

std::string DecideModels(const Evidence& evidence) {
  const std::string anchor = Anchor(evidence, "S2", "ResNet-50, batch 8");
  return anchor.empty() ? evidence.Undecided("S2") : "to beat with 8 processes and ResNet-50, batch 8: " + anchor;
}

constexpr Role kRoles[] = {{"worker", RunKernelWorker}};
constexpr Step kKernelSteps[] = {{"sliced", Kernels, 30}, {"mps", Kernels, 30, true}};
constexpr Step kModelSteps[] = {{"sliced", Models, 100}, {"mps", Models, 100, true}};

}  // namespace

const Probe kS1{"S1", "What do 1, 2, 4, 8 processes with small kernels get?", kKernelSteps, kRoles, DecideKernels};
const Probe kS2{"S2", "What do 2, 4, 8 processes with models get?", kModelSteps, {}, DecideModels};

}  // namespace tutti::gpu
