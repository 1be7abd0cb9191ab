// P16: whether the device's multiprocessors can be given out in parts as the plan needs it.
#include <algorithm>
#include <set>
#include <string>
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

unsigned Least() { return Here().Size(8u, 1u); }

// Runs more blocks than fit, for `ms` in all; on which multiprocessors they were, when the first began and the last
// ended.
struct Where {
  std::set<uint64_t> sms;
  uint64_t begin = 0, end = 0;
};
class WhereKernel {
 public:
  explicit WhereKernel(unsigned blocks) : blocks_(blocks), words_(3 * blocks) {}
  void Start(CUstream stream, uint64_t ns) { Launch(Kernel("where"), blocks_, 128, stream, words_.at(0), ns); }
  Where Read() {
    Where where;
    for (unsigned i = 0; i < blocks_; ++i) {
      const uint64_t sm = words_[3 * i], begin = words_[3 * i + 1], end = words_[3 * i + 2];
      where.sms.insert(sm);
      where.begin = i == 0 ? begin : std::min(where.begin, begin);
      where.end = std::max(where.end, end);
    }
    return where;
  }

 private:
  unsigned blocks_;
  SharedWords words_;
};

void Split(std::string_view) {
  const Gpu gpu = OpenGpu();
  for (const unsigned flags : {0u, static_cast<unsigned>(CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING)}) {
    for (const unsigned least : {1u, 2u, 8u, 16u}) {
      CUdevResource all{};
      CU(cuDeviceGetDevResource, gpu.device, &all, static_cast<int>(CU_DEV_RESOURCE_TYPE_SM));
      if (least > all.sm.smCount) continue;
      const SmGroups split = SplitSms(gpu.device, least, flags);
      Record()
          .Set("least asked for", least)
          .Set("without co-scheduling", flags != 0)
          .Set("groups", split.groups.size())
          .Set("multiprocessors each", split.groups.empty() ? 0 : split.groups[0].sm.smCount)
          .Set("rest", split.rest.sm.smCount)
          .Write();
    }
  }
}

void SmIds(std::string_view) {
  const Gpu gpu = OpenGpu();
  const SmGroups split = SplitSms(gpu.device, Least());
  std::set<uint64_t> all;
  size_t sum = 0, most = 0;
  const size_t count = std::min<size_t>(split.groups.size(), 4);
  for (size_t i = 0; i < count; ++i) {
    const GreenContext green = MakeGreenContext(gpu.device, std::span(split.groups).subspan(i, 1));
    WhereKernel where(Here().Size(1024u, 32u));
    where.Start(green.stream, 20'000);
    CU(cuStreamSynchronize, green.stream);
    const Where found = where.Read();
    all.insert(found.sms.begin(), found.sms.end());
    sum += found.sms.size();
    most = std::max(most, found.sms.size());
  }
  Record()
      .Set("green contexts", count)
      .Set("multiprocessors asked for", split.groups.empty() ? 0 : split.groups[0].sm.smCount)
      .Set("most seen by one", most)
      .Set("disjoint", all.size() == sum)
      .Write();
}

// Two contexts that share a group; two of one group each; the same split used twice.
void Overlap(std::string_view) {
  const Gpu gpu = OpenGpu();
  const SmGroups split = SplitSms(gpu.device, Least());
  if (split.groups.size() < 3) GiveUp(Outcome::kLacks, "the device has fewer than 3 groups");
  const auto together = [&](const char* name, std::span<const CUdevResource> a, std::span<const CUdevResource> b) {
    int result_a = 0, result_b = 0;
    const GreenContext one = MakeGreenContext(gpu.device, a, &result_a),
                       two = MakeGreenContext(gpu.device, b, &result_b);
    Record record;
    record.Set("pair", name)
        .Set("first", NameOf(result_a))
        .Set("second", NameOf(result_b))
        .Set("both made", result_a == 0 && result_b == 0);
    if (result_a == 0 && result_b == 0) {
      const auto blocks = static_cast<unsigned>(a.size()) * a[0].sm.smCount;
      WhereKernel here(blocks), there(blocks);
      const uint64_t ns = Here().Size(10'000'000, 2'000'000);
      here.Start(one.stream, ns);
      there.Start(two.stream, ns);
      CU(cuStreamSynchronize, one.stream);
      CU(cuStreamSynchronize, two.stream);
      const Where first = here.Read(), second = there.Read();
      const uint64_t begin = std::max(first.begin, second.begin), end = std::min(first.end, second.end);
      record.Set("part of the time both ran", end > begin ? static_cast<double>(end - begin) /
                                                                static_cast<double>(std::max(first.end, second.end) -
                                                                                    std::min(first.begin, second.begin))
                                                          : 0.0);
    } else {
      record.Set("part of the time both ran", 0.0);
    }
    record.Write();
    if (one.context != nullptr) CU_TRY(cuGreenCtxDestroy, one.context);
    if (two.context != nullptr) CU_TRY(cuGreenCtxDestroy, two.context);
  };
  const auto groups = std::span(split.groups);
  together("disjoint", groups.first(1), groups.subspan(1, 1));
  together("overlapping", groups.first(2), groups.subspan(1, 2));
  together("the same", groups.first(1), groups.first(1));
}

void Many(std::string_view) {
  const Gpu gpu = OpenGpu();
  const SmGroups split = SplitSms(gpu.device, Least());
  if (split.groups.empty()) GiveUp(Outcome::kLacks, "the device has no groups");
  for (const size_t count : {size_t{1}, size_t{16}, size_t{64}}) {
    const double before = FreeMib();
    const Stopwatch time;
    std::vector<GreenContext> contexts;
    int result = 0;
    for (size_t i = 0; i < count && result == 0; ++i)
      contexts.push_back(
          MakeGreenContext(gpu.device, std::span(split.groups).subspan(i % split.groups.size(), 1), &result));
    const double ms = time.ms();
    if (result != 0) contexts.pop_back();
    for (const GreenContext& green : contexts) Launch(Kernel("empty"), 1, 1, green.stream);
    CU(cuCtxSynchronize);
    Record()
        .Set("green contexts", count)
        .Set("made", contexts.size())
        .Set("result", NameOf(result))
        .Set("ms each", ms / static_cast<double>(count))
        .Set("MiB together", before - FreeMib())
        .Write();
    for (const GreenContext& green : contexts) CU_TRY(cuGreenCtxDestroy, green.context);
  }
}

// A new part while kernels run in the old one.
void LiveChange(std::string_view) {
  const Gpu gpu = OpenGpu();
  const SmGroups split = SplitSms(gpu.device, Least());
  if (split.groups.size() < 2) GiveUp(Outcome::kLacks, "the device has fewer than 2 groups");
  const GreenContext old = MakeGreenContext(gpu.device, std::span(split.groups).first(1));
  Launch(Kernel("empty"), 1, 1, old.stream);
  CU(cuStreamSynchronize, old.stream);
  Holder holder;
  holder.Start(old.stream, 1000);
  const Stopwatch time;
  const GreenContext next = MakeGreenContext(gpu.device, std::span(split.groups).subspan(1, 1));
  const double make_ms = time.ms();
  Launch(Kernel("empty"), 1, 1, next.stream);
  CU(cuStreamSynchronize, next.stream);
  const double first_ms = time.ms();
  const bool still_running = CU_TRY(cuStreamQuery, old.stream) != 0;
  holder.Release();
  CU(cuStreamSynchronize, old.stream);
  Record()
      .Set("new context in ms", make_ms)
      .Set("its first kernel after ms", first_ms)
      .Set("while the old one's kernel ran", still_running)
      .Write();
}

std::string Decide(const Evidence& evidence) {
  const auto seen = evidence.Number("P16", "sm_ids", "most seen by one"),
             asked = evidence.Number("P16", "sm_ids", "multiprocessors asked for");
  const auto disjoint = evidence.Truth("P16", "sm_ids", "disjoint");
  std::optional<bool> overlapping;
  double both = 0;
  for (const Row* row : evidence.Of("P16", "overlap")) {
    if (row->Text("pair") == "overlapping") {
      overlapping = row->Truth("both made");
      both = row->Number("part of the time both ran").value_or(0);
    }
  }
  const auto live = evidence.Truth("P16", "live_change", "while the old one's kernel ran");
  if (!seen || !asked || !disjoint || !overlapping) return evidence.Undecided("P16");
  if (*seen > *asked || !*disjoint)
    return "a green context does not hold kernels to its multiprocessors: limits are by time alone";
  std::string text = *overlapping ? "SM limits are green contexts of chunks, joined and overlapping (both ran " +
                                        Show(100 * both) + "% of the time)"
                                  : "SM limits are green contexts, but chunks cannot be in two at once: percentages "
                                    "over 100 in sum are shared by time";
  if (live) text += *live ? "; a limit changes live" : "; a limit changes when the old part is idle";
  if (const auto ms = evidence.Number("P16", "live_change", "new context in ms")) text += " (" + Show(*ms) + " ms)";
  return text;
}

constexpr Step kSteps[] = {{"split", Split, 8},
                           {"sm_ids", SmIds, 8},
                           {"overlap", Overlap, 10},
                           {"many", Many, 12},
                           {"live_change", LiveChange, 8}};

}  // namespace

const Probe kP16{"P16",
                 "Do green contexts hold kernels to their multiprocessors, may they overlap, how many may there be, "
                 "can one be made live?",
                 kSteps,
                 {},
                 Decide};

}  // namespace tutti::gpu
