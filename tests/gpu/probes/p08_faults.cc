// P8: what a fault of one process does to others and to memory.
//
// Four processes: the step itself, which uses no driver; the owner, whose slab the culprit has mapped, too, and who
// does nothing while the fault happens; the bystander, who launches small kernels all the time; the culprit. The slab's
// parts: probes/fault_roles.h.
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "cuda/result.h"
#include "frame/gpu.h"
#include "frame/numbers.h"
#include "frame/peer.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "frame/slab.h"
#include "probes/fault_roles.h"
#include "probes/probes.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

void Owner(Channel& step, std::string_view) {
  const Gpu gpu = OpenGpu();
  PhysicalHandle handle = 0;
  const os::Fd fd = TryNewSlab(gpu.device, 3 * SlabPartBytes(), &handle);
  CUdeviceptr at = 0;
  if (fd) {
    at = PlaceSlab(gpu.device, 3 * SlabPartBytes(), handle);
    FillPattern(at, SlabPartBytes(), 1);
    CU(cuCtxSynchronize);
    step.Say("slab", {}, {fd.get()});
  } else {
    step.Say("slab");
  }
  const CUfunction empty = Kernel("empty");
  while (step.Hear(60).word == "check") {
    const Stopwatch time;
    const int launched = TryLaunch(empty, 1, 1, nullptr);
    const int result = launched != CUDA_SUCCESS ? launched : CU_TRY(cuCtxSynchronize);
    std::vector<double> numbers = {static_cast<double>(result), time.ms()};
    for (uint64_t part = 0; fd && result == CUDA_SUCCESS && part < 3; ++part)
      numbers.push_back(static_cast<double>(CountDifferences(at + part * SlabPartBytes(), SlabPartBytes(), part + 1)));
    step.Say("checked", numbers);
  }
}

void Fault(std::string_view name) {
  Peer owner("owner"), bystander("bystander"), culprit("culprit", std::string(name));
  const Heard slab = owner.Expect("slab");
  const bool has_slab = !slab.fds.empty();
  if (has_slab) {
    culprit.channel().Say("slab", {}, {slab.fds[0].get()});
  } else {
    culprit.channel().Say("slab");
  }
  bystander.Expect("ready");
  culprit.Expect("ready");
  const Heard fault = culprit.Ask("go", "fault");
  const Heard during = owner.Ask("check", "checked");
  usleep(100'000);
  bystander.channel().Say("report", {fault.number(2)});
  const Heard report = bystander.Expect("report");
  culprit.channel().Say("end");
  culprit.Finish();
  const Heard after = owner.Ask("check", "checked");
  Record record;
  record.Set("error", NameOf(static_cast<int>(fault.number(0))))
      .Set("ms to the error", fault.number(1))
      .Set("sticky", fault.number(3) != 0)
      .Set("idle neighbour", NameOf(static_cast<int>(during.number(0))))
      .Set("its next kernel, ms", during.number(1))
      .Set("running neighbour", NameOf(static_cast<int>(report.number(0))))
      .Set("its usual kernel, ms", report.number(1))
      .Set("longest before, ms", report.number(2))
      .Set("longest since, ms", report.number(3))
      .Set("neighbours go on", during.number(0) == 0 && report.number(0) == 0 && after.number(0) == 0);
  if (has_slab && during.numbers.size() == 5 && after.numbers.size() == 5) {
    record.Set("words of old data that differ", during.number(2))
        .Set("of the culprit's finished data", during.number(3))
        .Set("of the kernel before", during.number(4))
        .Set("words that differ", std::max({after.number(2), after.number(3), after.number(4), during.number(2),
                                            during.number(3), during.number(4)}));
  } else {
    record.Set("contents",
               has_slab ? "not looked at: the owner had an error" : "not looked at: the driver exports no memory");
  }
  record.Write();
}

// What tells an executor that its context is lost, and does not here (src/executor/context.cc).
std::string Silent(const Evidence& evidence) {
  for (const Row* row : evidence.Of("P8")) {
    const std::string silent = row->Text("calls that do not") + row->Text("calls that say something else");
    const auto tells = [&](const char* call) { return silent.find(call) == std::string::npos; };
    if (tells("cuStreamQuery (idle)") || tells("cuEventCreate") || tells("cuEventQuery (not recorded)") ||
        tells("cuEventDestroy"))
      continue;
    return "; NO CALL THAT Context::IsLost MAKES SAYS AN ERROR THAT STAYS (" + row->step +
           "): it must ask others, of: " + row->Text("calls that say so");
  }
  return "";
}

std::string DecideRecovery(const Evidence& evidence) {
  const auto differ = evidence.Most("P8", "*", "words that differ");
  const auto wait = evidence.Most("P8", "*", "longest since, ms");
  const auto idle = evidence.Most("P8", "*", "its next kernel, ms");
  for (const Row* row : evidence.Of("P8")) {
    if (row->Truth("neighbours go on") == false)
      return "a fault (" + row->step +
             ") reaches other processes: no separation by processes is enough; only fenced kernels in `shared`, or one "
             "GPU per client";
  }
  if (!wait || !idle) return evidence.Undecided("P8");
  // A kernel that did not fail proves nothing.
  const auto rows = evidence.Of("P8");
  const auto faults =
      std::count_if(rows.begin(), rows.end(), [](const Row* row) { return row->Truth("sticky") == true; });
  if (faults == 0) return "undecided: no kernel failed";
  const double longest = std::max(*wait, *idle);
  if (!differ)
    return "undecided: neighbours go on after " + Show(longest) +
           " ms at most, but the contents of memory could not be looked at";
  if (*differ > 0)
    return "memory is not intact after a fault: recovery only for clients that opt in, `process` is the default";
  if (longest <= 100)
    return "memory is intact after " + Show(static_cast<double>(faults)) + " kinds of faults, and others wait " +
           Show(longest) + " ms at most: recovery is on by default";
  return "memory is intact after " + Show(static_cast<double>(faults)) +
         " kinds of faults, but one holds others up for " + Show(longest) +
         " ms: recovery is on, and its aim of 100 ms cannot be held";
}

std::string Decide(const Evidence& evidence) { return DecideRecovery(evidence) + Silent(evidence); }

constexpr Role kRoles[] = {{"owner", Owner}, {"bystander", RunBystander}, {"culprit", RunCulprit}};
constexpr Step kSteps[] = {
    {"far_read", Fault, 15},   {"far_write", Fault, 15}, {"near_read", Fault, 15},  {"near_write", Fault, 15},
    {"trap", Fault, 15},       {"assert", Fault, 15},    {"misaligned", Fault, 15}, {"address_space", Fault, 15},
    {"invalid_pc", Fault, 15}, {"recursion", Fault, 15}, {"breakpoint", Fault, 15},
};

}  // namespace

const Probe kP8{"P8",
                "A kernel of one process fails: is other processes' finished data intact, do they go on, and when?",
                kSteps, kRoles, Decide};

}  // namespace tutti::gpu
