// What an executor that ends costs the programs that it served: it is killed while they wait, and each says when it has
// its next result, and whether its memory is what it was.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "frame/files.h"
#include "frame/gpu.h"
#include "frame/numbers.h"
#include "frame/peer.h"
#include "frame/probe.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "frame/tutti_service.h"
#include "sharing/sharing.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

void RunSurvivor(Channel& step, std::string_view) {
  OpenGpu();
  const uint64_t bytes = Here().Size(uint64_t{1} << 30, uint64_t{4} << 20);
  CUdeviceptr memory = 0;
  CU(cuMemAlloc_v2, &memory, static_cast<size_t>(bytes));
  FillPattern(memory, bytes, 1);
  CountDifferences(memory, bytes, 1);
  step.Say("ready");
  for (Heard order = step.Hear(60); order.word == "go"; order = step.Hear(60)) {
    const Stopwatch time;
    Launch(Kernel("empty"), 1, 1, nullptr);
    CU(cuCtxSynchronize);
    const double next_ms = time.ms();
    step.Say("done", {next_ms, static_cast<double>(CountDifferences(memory, bytes, 1))});
  }
}

// The executors of this step's service: whose ancestor is the process that started the step.
std::vector<pid_t> Executors() {
  const auto parent_of = [](pid_t process) -> pid_t {
    const std::string stat = ReadFile("/proc/" + std::to_string(process) + "/stat");
    const size_t behind = stat.rfind(") ");
    return behind == std::string::npos || behind + 4 >= stat.size() ? 0 : std::atoi(stat.c_str() + behind + 4);
  };
  std::vector<pid_t> executors;
  for (const std::string& name : FilesIn("/proc")) {
    const pid_t process = std::atoi(name.c_str());
    if (process <= 0 || !ReadFile("/proc/" + name + "/comm").starts_with("tutti-executor")) continue;
    for (pid_t at = process; at > 1; at = parent_of(at)) {
      if (at == getppid()) executors.push_back(process);
    }
  }
  return executors;
}

void Recover(std::string_view policy) {
  const TuttiService service(policy == "process" ? "process" : "shared", policy == "trusted");
  std::vector<Peer> survivors;
  for (int i = 0; i < 2; ++i) survivors.emplace_back("survivor", "", service.Client());
  for (Peer& survivor : survivors) survivor.Expect("ready", 30);
  std::vector<double> times;
  double wrong = 0;
  size_t ended = 0;
  for (int round = 0; round < Here().Size(20, 3); ++round) {
    const std::vector<pid_t> executors = Executors();
    if (executors.empty()) GiveUp(Outcome::kFailed, "no executor was found");
    for (const pid_t executor : executors) ended += kill(executor, SIGKILL) == 0 ? 1 : 0;
    for (Peer& survivor : survivors) survivor.channel().Say("go");
    for (Peer& survivor : survivors) {
      const Heard done = survivor.Expect("done", 20);
      times.push_back(done.number(0));
      wrong += done.number(1);
    }
  }
  Record()
      .Set("how", "Tutti, " + std::string(policy))
      .Set("executors killed", ended)
      .Set("results", times.size())
      .Set("words that are wrong", wrong)
      .Set("next result, median ms", Median(times))
      .Set("p90, ms", Quantile(times, 0.9))
      .Set("longest, ms", *std::ranges::max_element(times))
      .Write();
}

std::string Decide(const Evidence& evidence) {
  std::string text;
  for (const char* policy : {"process", "trusted"}) {
    for (const Row* row : evidence.Of("T4", policy)) {
      if (!row->Number("results")) continue;
      text += (text.empty() ? "" : ", ") + row->Text("how") + ": " +
              Show(row->Number("next result, median ms").value_or(0)) + " ms, " +
              Show(row->Number("words that are wrong").value_or(0)) + " words wrong";
    }
  }
  return text.empty() ? evidence.Undecided("T4") : "until the next result (aim: 100 ms): " + text;
}

constexpr Role kRoles[] = {{"survivor", RunSurvivor}};
constexpr Step kSteps[] = {{"process", Recover, 25}, {"trusted", Recover, 25}};

}  // namespace

const Probe kT4{"T4", "How long do programs wait when their executor has been killed?", kSteps, kRoles, Decide};

}  // namespace tutti::gpu
