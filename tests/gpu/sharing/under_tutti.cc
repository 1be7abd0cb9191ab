// Whether programs run under Tutti on this driver, and what they get: in a process of their own (`process`), in one
// context of the driver for all (`shared`, trusted), and there with each kernel's addresses checked (`shared`, fenced).
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "frame/gpu.h"
#include "frame/numbers.h"
#include "frame/peer.h"
#include "frame/probe.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "frame/tutti_service.h"
#include "sharing/sharing.h"
#include "sharing/work.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

constexpr uint64_t kMib = 1 << 20;

// The steps' names are the policies'.
TuttiService ServiceOf(std::string_view policy) {
  return TuttiService(policy == "process" ? "process" : "shared", policy == "trusted");
}
std::string How(std::string_view policy) { return "Tutti, " + std::string(policy); }

// Kernels that write and read memory, copies both ways, and waits, as a client: whatever differs is wrong.
void RunChecker(Channel& step, std::string_view) {
  const Gpu gpu = OpenGpu();
  const uint64_t bytes = Here().Size(256 * kMib, 8 * kMib);
  uint64_t wrong = 0;
  CUdeviceptr memory = 0, other = 0;
  CU(cuMemAlloc_v2, &memory, static_cast<size_t>(bytes));
  CU(cuMemAlloc_v2, &other, static_cast<size_t>(bytes));
  const CUstream stream = NewStream();
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    FillPattern(memory, bytes, seed, stream);
    CU(cuStreamSynchronize, stream);
    wrong += CountDifferences(memory, bytes, seed);
    std::vector<char> host(bytes);
    CU(cuMemcpyDtoH_v2, static_cast<void*>(host.data()), memory, static_cast<size_t>(bytes));
    CU(cuMemcpyHtoD_v2, other, static_cast<const void*>(host.data()), static_cast<size_t>(bytes));
    wrong += CountDifferences(other, bytes, seed);
  }
  std::vector<double> both;
  for (int i = 0; i < Here().Size(2000, 50); ++i) {
    const Stopwatch time;
    Launch(Kernel("empty"), 1, 1, stream);
    CU(cuStreamSynchronize, stream);
    both.push_back(time.us());
  }
  step.Say("done", {static_cast<double>(wrong), gpu.init_ms, gpu.context_ms, gpu.kernel_ms, Median(both),
                    Quantile(both, 0.99)});
}

void Compute(std::string_view policy) {
  const TuttiService service = ServiceOf(policy);
  // Twice, and then two at once: the second one finds what the first one has left.
  for (const int count : {1, 1, 2}) {
    std::vector<Peer> checkers;
    for (int i = 0; i < count; ++i) checkers.emplace_back("checker", "", service.Client());
    for (Peer& checker : checkers) {
      const Heard done = checker.Expect("done", 60);
      Record()
          .Set("how", How(policy))
          .Set("processes", count)
          .Set("words that are wrong", done.number(0))
          .Set("cuInit, ms", done.number(1))
          .Set("context, ms", done.number(2))
          .Set("first kernel, ms", done.number(3))
          .Set("launch and wait, us", done.number(4))
          .Set("p99, us", done.number(5))
          .Write();
    }
    for (Peer& checker : checkers) {
      if (!checker.Finish()) GiveUp(Outcome::kFailed, "a program under Tutti did not end well");
    }
  }
}

// What executors are without, by steps.
struct Confinement {
  std::string_view step;
  const char* without;
  const char* meaning;
};
constexpr Confinement kConfinements[] = {
    {"whole", "", "executors are confined, and the driver works"},
    {"no_filter", "filter", "the driver does not survive the filter of system calls"},
    {"no_domain", "domain", "the driver does not survive the Landlock domain"},
    {"memory", "filter,domain", "the driver survives neither the filter nor the domain"},
    {"nothing", "memory,domain,filter", "the driver does not survive PR_SET_DUMPABLE, or all of it together"},
};

// The first that works is what later steps have.
void Confine(std::string_view step) {
  const Confinement& confinement = *std::ranges::find(kConfinements, step, &Confinement::step);
  if (TuttiService::is_unconfined_known()) {
    Record().Set("executors are without", confinement.without).Set("not asked", "what works is known").Write();
    return;
  }
  const TuttiService service("process", false, confinement.without);
  Peer checker("checker", "", service.Client());
  const Heard done = checker.Expect("done", 20);
  const bool works = done.number(0) == 0 && checker.Finish();
  Record().Set("executors are without", confinement.without).Set("works", works).Write();
  if (works) TuttiService::SetUnconfined(confinement.without);
}

void Kernels(std::string_view policy) {
  const TuttiService service = ServiceOf(policy);
  std::vector<Peer> workers;
  for (int i = 0; i < Here().Size(8, 2); ++i) workers.emplace_back("worker", "", service.Client());
  for (Peer& worker : workers) worker.Expect("ready");
  for (const Work& work : KernelWork()) {
    for (size_t count = 1; count <= workers.size(); count *= 2)
      Together(workers, count, work, Here().Size(1.0, 0.05), How(policy));
    if (Here().small) break;
  }
}

void Models(std::string_view policy) {
  const TuttiService service = ServiceOf(policy);
  std::vector<Peer> workers;
  for (int i = 0; i < Here().Size(8, 1); ++i) workers.push_back(StartModelWorker(service.Client()));
  for (Peer& worker : workers) worker.Expect("ready", 60);
  for (const Work& work : ModelWork()) {
    for (size_t count = workers.size(); count >= 1; count /= 8) Together(workers, count, work, 2, How(policy));
  }
}

std::string DecideConfinement(const Evidence& evidence) {
  for (const Confinement& confinement : kConfinements) {
    if (evidence.Truth("T6", confinement.step, "works") != true) continue;
    const std::string without = confinement.without;
    return confinement.meaning + (without.empty() ? std::string()
                                                  : ": it works with TUTTI_EXECUTORS_UNCONFINED=" + without +
                                                        ", as the other steps of this section did; the log of `" +
                                                        std::string(kConfinements[0].step) + "` says where it failed");
  }
  return evidence.Undecided("T6");
}

std::string DecideComputing(const Evidence& evidence) {
  std::string text;
  for (const char* policy : {"process", "trusted", "fenced"}) {
    double rows = 0, wrong = 0;
    for (const Row* row : evidence.Of("T1", policy)) {
      if (!row->Number("processes")) continue;
      ++rows;
      wrong += row->Number("words that are wrong").value_or(0);
    }
    if (rows == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(policy) + ": " + Show(rows) + " programs, " +
            (wrong == 0 ? "all results right" : Show(wrong) + " words wrong");
  }
  return text.empty() ? evidence.Undecided("T1") : text;
}

// What all processes together got in each policy.
std::string Compare(const Evidence& evidence, std::string_view probe, std::string_view work, double processes) {
  std::string text;
  for (const char* policy : {"process", "trusted", "fenced"}) {
    for (const Row* row : evidence.Of(probe, policy)) {
      if (row->Text("work") != work || row->Number("processes") != processes) continue;
      text += (text.empty() ? "" : ", ") + row->Text("how") + " " +
              Show(row->Number("a second, together").value_or(0)) + "/s (p99 " +
              Show(row->Number("p99, ms").value_or(0)) + " ms)";
    }
  }
  return text;
}

std::string DecideKernels(const Evidence& evidence) {
  const std::string text = Compare(evidence, "T2", "kernels of about 50 us", 8);
  return text.empty() ? evidence.Undecided("T2") : "8 processes, kernels of 50 us (beside S1): " + text;
}

std::string DecideModels(const Evidence& evidence) {
  const std::string text = Compare(evidence, "T3", "ResNet-50, batch 8", 8);
  return text.empty() ? evidence.Undecided("T3") : "8 processes, ResNet-50, batch 8 (beside S2): " + text;
}

constexpr Role kRoles[] = {{"checker", RunChecker}, {"worker", RunKernelWorker}};
constexpr Step kComputing[] = {{"process", Compute, 25}, {"trusted", Compute, 25}, {"fenced", Compute, 25}};
constexpr Step kConfining[] = {{"whole", Confine, 25},
                               {"no_filter", Confine, 25},
                               {"no_domain", Confine, 25},
                               {"memory", Confine, 25},
                               {"nothing", Confine, 25}};
constexpr Step kKernelSteps[] = {{"process", Kernels, 30}, {"trusted", Kernels, 30}, {"fenced", Kernels, 30}};
// Machine code cannot be fenced.
constexpr Step kModelSteps[] = {{"process", Models, 60}, {"trusted", Models, 60}};

}  // namespace

const Probe kT1{"T1", "Do programs compute what they should under Tutti?", kComputing, kRoles, DecideComputing};
const Probe kT6{"T6", "Does the driver work in an executor that is confined?", kConfining, kRoles, DecideConfinement};
const Probe kT2{"T2", "What do 1, 2, 4, 8 processes with small kernels get under Tutti?", kKernelSteps, kRoles,
                DecideKernels};
const Probe kT3{"T3", "What do 1 and 8 processes with models get under Tutti?", kModelSteps, {}, DecideModels};

}  // namespace tutti::gpu
