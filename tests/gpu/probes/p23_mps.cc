// P23: NVIDIA's MPS as the ground that `nested` stands on: what works under it, and who dies with whom.
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "cuda/result.h"
#include "frame/gpu.h"
#include "frame/mps.h"
#include "frame/numbers.h"
#include "frame/peer.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "frame/slab.h"
#include "probes/fault_roles.h"
#include "probes/green.h"
#include "probes/probes.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

constexpr uint64_t kBytes = 4 << 20;

// Around MPS: where no daemon listens.
Peer::Environment Outside() { return {{"CUDA_MPS_PIPE_DIRECTORY", Here().scratch + "/none"}}; }

void Fresh(Channel& step, std::string_view) {
  OpenGpu();
  step.Say("works");
}

// Milliseconds until a new client has finished a kernel; -1: not within the time.
double NewClientMs(double limit_seconds) {
  const Stopwatch time;
  while (time.seconds() < limit_seconds) {
    Peer fresh("fresh");
    const bool works = fresh.channel().Hear(5).word == "works";
    const double ms = time.ms();
    fresh.Finish(1);
    if (works) return ms;
  }
  return -1;
}

void Fault(std::string_view step) {
  const std::string kind(step.substr(step.find('_') + 1));
  const double before_ms = NewClientMs(10);
  Peer client("bystander"), outsider("bystander", "", Outside()), culprit("culprit", kind);
  culprit.channel().Say("slab");
  client.Expect("ready");
  outsider.Expect("ready");
  culprit.Expect("ready");
  const Heard fault = culprit.Ask("go", "fault");
  culprit.channel().Say("end");
  culprit.Finish();
  client.channel().Say("report", {fault.number(2)});
  const Heard inside = client.Expect("report");
  // The server takes nobody new before all that the fault has reached are gone.
  client.Finish();
  const double again_ms = NewClientMs(8);
  outsider.channel().Say("report", {fault.number(2)});
  const Heard outside = outsider.Expect("report");
  Record()
      .Set("error", NameOf(static_cast<int>(fault.number(0))))
      .Set("ms to the error", fault.number(1))
      .Set("other client", NameOf(static_cast<int>(inside.number(0))))
      .Set("other client lives", inside.number(0) == 0)
      .Set("outside of MPS", NameOf(static_cast<int>(outside.number(0))))
      .Set("who is outside lives", outside.number(0) == 0)
      .Set("longest wait outside, ms", outside.number(3))
      .Set("new client before, ms", before_ms)
      .Set("new client after, ms", again_ms)
      .Write();
}

void Importer(Channel& step, std::string_view) {
  const Gpu gpu = OpenGpu();
  const Heard slab = step.Hear(20);
  const CUdeviceptr at = PlaceSlab(gpu.device, kBytes, ImportSlab(slab.fds.at(0).get()));
  step.Say("read", {static_cast<double>(CountDifferences(at, kBytes, 21))});
}

void Share(std::string_view) {
  Peer inside("importer"), outside("importer", "", Outside());
  const Gpu gpu = OpenGpu();
  const PhysicalHandle handle = CreateSlab(gpu.device, kBytes);
  const os::Fd fd = ExportSlab(handle);
  const CUdeviceptr at = PlaceSlab(gpu.device, kBytes, handle);
  FillPattern(at, kBytes, 21);
  CU(cuCtxSynchronize);
  for (Peer* peer : {&inside, &outside}) {
    peer->channel().Say("slab", {}, {fd.get()});
    const Heard read = peer->channel().Hear(20);
    Record()
        .Set("importer", peer == &inside ? "a client of MPS" : "outside of MPS")
        .Set("shared", read.word == "read" && read.number(0) == 0)
        .Set("it said", read.text)
        .Write();
  }
}

void Green(std::string_view) {
  const Gpu gpu = OpenGpu();
  const SmGroups split = SplitSms(gpu.device, Here().Size(8u, 1u));
  int result = 0;
  const GreenContext green = MakeGreenContext(gpu.device, std::span(split.groups).first(1), &result);
  if (result == 0) {
    Launch(Kernel("empty"), 1, 1, green.stream);
    result = CU_TRY(cuStreamSynchronize, green.stream);
  }
  Record().Set("groups", split.groups.size()).Set("result", NameOf(result)).Set("green contexts", result == 0).Write();
}

void Endless(Channel& step, std::string_view) {
  OpenGpu();
  const CUstream stream = NewStream();
  Holder holder;
  holder.Start(stream, 8000);
  step.Say("runs");
  const Stopwatch time;
  int result = CUDA_ERROR_NOT_READY;
  while (result == CUDA_ERROR_NOT_READY && time.seconds() < 7) result = CU_TRY(cuStreamQuery, stream);
  step.Say("over", {static_cast<double>(result)});
}

void Terminate(std::string_view) {
  Peer endless("endless"), client("bystander");
  endless.Expect("runs");
  client.Expect("ready");
  const int server = std::atoi(AskNvidiaMps("get_server_list").c_str());
  const auto begin = static_cast<double>(NowNs());
  const Stopwatch time;
  const std::string said =
      AskNvidiaMps("terminate_client " + std::to_string(server) + " " + std::to_string(endless.pid()));
  const double told_ms = time.ms();
  const Heard over = endless.channel().Hear(7.5);
  const double over_ms = time.ms();
  client.channel().Say("report", {begin});
  const Heard report = client.Expect("report");
  Record()
      .Set("server", server)
      .Set("it said", said)
      .Set("command in ms", told_ms)
      .Set("endless client",
           over.word == "over" ? NameOf(static_cast<int>(over.number(0))) : "it is gone, or hears nothing")
      .Set("over after ms", over_ms)
      .Set("ended early", over_ms < 6500)
      .Set("other client lives", report.number(0) == 0)
      .Set("its longest wait, ms", report.number(3))
      .Write();
}

std::string Decide(const Evidence& evidence) {
  const auto outside = evidence.Truth("P23", "fault_far_write", "who is outside lives");
  const auto other = evidence.Truth("P23", "fault_far_write", "other client lives");
  const auto again = evidence.Most("P23", "fault_*", "new client after, ms");
  if (!outside || !other || !again) return evidence.Undecided("P23");
  std::string shared = "memory cannot be shared with it";
  bool all = true, any = false;
  for (const Row* row : evidence.Of("P23", "share")) {
    if (const auto truth = row->Truth("shared")) {
      all = all && *truth;
      any = true;
    }
  }
  if (any && !all) return "`nested` cannot be built as planned: " + shared + "; `process` is used instead";
  std::string text = *outside ? "`nested` has its standby outside of MPS"
                              : "`nested` has no safe standby: a fault under MPS reaches contexts outside of it";
  text += *other ? "; another client lived through a fault"
                 : "; a fault takes all clients of MPS with it, and they are relocated";
  text += evidence.Least("P23", "fault_*", "new client after, ms").value_or(-1) >= 0
              ? "; MPS is back after " + Show(*again) + " ms"
              : "; MPS did not come back by itself: the server starts another daemon";
  if (const auto early = evidence.Truth("P23", "terminate", "ended early"))
    text += *early ? "; terminate_client ends an endless kernel" : "; terminate_client does not end an endless kernel";
  return text;
}

constexpr Role kRoles[] = {{"fresh", Fresh},
                           {"bystander", RunBystander},
                           {"culprit", RunCulprit},
                           {"importer", Importer},
                           {"endless", Endless}};
constexpr Step kSteps[] = {{"fault_far_write", Fault, 30, true},
                           {"fault_trap", Fault, 30, true},
                           {"share", Share, 20, true},
                           {"green", Green, 12, true},
                           {"terminate", Terminate, 25, true}};

}  // namespace

const Probe kP23{
    "P23",
    "Under NVIDIA's MPS: can memory be shared, are there green contexts, who dies with a fault, when is it back?",
    kSteps, kRoles, Decide};

}  // namespace tutti::gpu
