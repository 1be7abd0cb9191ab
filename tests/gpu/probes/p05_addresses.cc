// P5: whether addresses that we choose can be had, in every process, before it has a context and after.
#include <algorithm>
#include <vector>

#include "frame/gpu.h"
#include "frame/peer.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "probes/probes.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

constexpr uint64_t kGib = uint64_t{1} << 30;
struct Wish {
  CUdeviceptr base;
  uint64_t bytes;
  const char* name;
};
constexpr Wish kWishes[] = {
    {0x2000'0000'0000, 512 * kGib, "512 GiB at 0x2000'0000'0000"},
    {0x4000'0000'0000, 512 * kGib, "512 GiB at 0x4000'0000'0000"},
    {0x7000'0000'0000, 512 * kGib, "512 GiB at 0x7000'0000'0000"},
    {0x2000'0000'0000, 48 * 1024 * kGib, "48 TiB at 0x2000'0000'0000"},
    {0x4000'0000'0000, 48 * 1024 * kGib, "48 TiB at 0x4000'0000'0000"},
};
enum Answer { kRefused, kElsewhere, kExact };

// Says for each wish what came of it.
void Reserver(Channel& step, std::string_view when) {
  if (when == "after") {
    OpenGpu();
  } else {
    OpenDriver();
  }
  std::vector<double> answers;
  for (const Wish& wish : kWishes) {
    CUdeviceptr at = 0;
    const int result = CU_TRY(cuMemAddressReserve, &at, static_cast<size_t>(wish.bytes), size_t{0}, wish.base, 0ull);
    if (result == kLacks) Check("cuMemAddressReserve", result);
    answers.push_back(result != 0 ? kRefused : at == wish.base ? kExact : kElsewhere);
    if (result == 0) CU_TRY(cuMemAddressFree, at, static_cast<size_t>(wish.bytes));
  }
  step.Say("answers", answers);
}

void Ask(std::string_view when) {
  const size_t all = Here().Size<size_t>(50, 2), at_once = 8;
  std::vector<std::vector<int>> counts(std::size(kWishes), std::vector<int>(3));
  for (size_t done = 0; done < all; done += at_once) {
    std::vector<Peer> peers;
    for (size_t i = done; i < std::min(all, done + at_once); ++i) peers.emplace_back("reserver", std::string(when));
    for (Peer& peer : peers) {
      const Heard answers = peer.Expect("answers");
      for (size_t i = 0; i < answers.numbers.size() && i < counts.size(); ++i)
        ++counts[i][static_cast<size_t>(answers.number(i)) % 3];
      peer.Finish();
    }
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    Record()
        .Set("wish", kWishes[i].name)
        .Set("processes", all)
        .Set("exact", counts[i][kExact])
        .Set("elsewhere", counts[i][kElsewhere])
        .Set("refused", counts[i][kRefused])
        .Write();
  }
}

std::string Decide(const Evidence& evidence) {
  // The largest part of processes that got a wish before they had a context; of equals the larger arena.
  const Row* best = nullptr;
  double best_part = 0;
  for (const Row* row : evidence.Of("P5", "before")) {
    const auto exact = row->Number("exact"), all = row->Number("processes");
    if (!exact || !all || *all == 0) continue;
    if (best == nullptr || *exact / *all > best_part ||
        (*exact / *all == best_part && row->Text("wish").starts_with("48"))) {
      best = row;
      best_part = *exact / *all;
    }
  }
  if (best == nullptr) return evidence.Undecided("P5");
  const std::string what = best->Text("wish");
  if (best_part == 1)
    return "arena: " + what +
           ", reserved before the context; it came exactly in every process, so no executor is started twice";
  if (best_part >= 0.9)
    return "arena: " + what + "; an executor that got another (" + Show(100 * (1 - best_part)) +
           "%) is started again, up to 3 times";
  if (best_part > 0)
    return "arena: " + what + " came in only " + Show(100 * best_part) +
           "% of processes: executors are started without address randomisation, else recovery is off";
  return "no wish was ever met exactly: no relocation at the same addresses, recovery is off, everything else works";
}

constexpr Role kRoles[] = {{"reserver", Reserver}};
constexpr Step kSteps[] = {{"before", Ask, 25}, {"after", Ask, 30}};

}  // namespace

const Probe kP5{
    "P5", "Can the same large ranges of addresses be reserved in every process, before and after it has a context?",
    kSteps, kRoles, Decide};

}  // namespace tutti::gpu
