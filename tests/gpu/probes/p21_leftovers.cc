// P21: whose bytes are in memory that nobody has written: shared and local memory of a kernel, pages of the device.
//
// A kernel or an allocation leaves a word behind wherever it can; then another one, of the same process or of the next,
// counts where it finds it.
#include <array>
#include <string>

#include "frame/gpu.h"
#include "frame/peer.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "frame/slab.h"
#include "probes/probes.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

constexpr uint64_t kWord = 0x7475'7474'6920'6f6b;

constexpr char kModule[] = R"(
.version 6.0
.target sm_60
.address_size 64

// `word` everywhere in shared memory: left there where `count` is zero, else counted where it is found.
.visible .entry in_shared(.param .u64 word, .param .u64 count)
{
  .shared .align 8 .b8 room[32768];
  .reg .u32 %t;
  .reg .u64 %word, %count, %at, %i, %value, %found;
  .reg .pred %more, %same, %leaves;
  ld.param.u64 %word, [word];
  ld.param.u64 %count, [count];
  setp.eq.u64 %leaves, %count, 0;
  mov.u64 %found, 0;
  mov.u32 %t, %tid.x;
  cvt.u64.u32 %i, %t;
again:
  mov.u64 %at, room;
  mad.lo.u64 %at, %i, 8, %at;
  @%leaves st.volatile.shared.u64 [%at], %word;
  @!%leaves ld.volatile.shared.u64 %value, [%at];
  setp.eq.u64 %same, %value, %word;
  @%same add.u64 %found, %found, 1;
  add.u64 %i, %i, 256;
  setp.lt.u64 %more, %i, 4096;
  @%more bra again;
  @!%leaves red.global.add.u64 [%count], %found;
  ret;
}

// The same in each thread's local memory.
.visible .entry in_local(.param .u64 word, .param .u64 count)
{
  .local .align 8 .b8 room[2048];
  .reg .u64 %word, %count, %at, %i, %value, %found;
  .reg .pred %more, %same, %leaves;
  ld.param.u64 %word, [word];
  ld.param.u64 %count, [count];
  setp.eq.u64 %leaves, %count, 0;
  mov.u64 %found, 0;
  mov.u64 %i, 0;
  mov.u64 %at, room;
  cvta.local.u64 %at, %at;
again:
  @%leaves st.volatile.u64 [%at], %word;
  @!%leaves ld.volatile.u64 %value, [%at];
  setp.eq.u64 %same, %value, %word;
  @%same add.u64 %found, %found, 1;
  add.u64 %at, %at, 8;
  add.u64 %i, %i, 1;
  setp.lt.u64 %more, %i, 256;
  @%more bra again;
  @!%leaves red.global.add.u64 [%count], %found;
  ret;
}

// Words of [at, at + 8 words) that are `word`, into the first counter, and that are not zero, into the second.
.visible .entry find_pages(.param .u64 word, .param .u64 count, .param .u64 at, .param .u64 words)
{
  .reg .u32 %a, %b, %c;
  .reg .u64 %word, %count, %at, %words, %i, %x, %step, %p, %found, %full;
  .reg .pred %end, %same;
  ld.param.u64 %word, [word];
  ld.param.u64 %count, [count];
  ld.param.u64 %at, [at];
  ld.param.u64 %words, [words];
  mov.u64 %found, 0;
  mov.u64 %full, 0;
  mov.u32 %a, %ctaid.x;
  mov.u32 %b, %ntid.x;
  mov.u32 %c, %tid.x;
  mul.wide.u32 %i, %a, %b;
  cvt.u64.u32 %x, %c;
  add.u64 %i, %i, %x;
  mov.u32 %a, %nctaid.x;
  mul.wide.u32 %step, %a, %b;
again:
  setp.ge.u64 %end, %i, %words;
  @%end bra done;
  mad.lo.u64 %p, %i, 8, %at;
  ld.volatile.global.u64 %x, [%p];
  setp.eq.u64 %same, %x, %word;
  @%same add.u64 %found, %found, 1;
  setp.ne.u64 %same, %x, 0;
  @%same add.u64 %full, %full, 1;
  add.u64 %i, %i, %step;
  bra again;
done:
  red.global.add.u64 [%count], %found;
  red.global.add.u64 [%count+8], %full;
  ret;
}
)";

uint64_t PageBytes() { return Here().Size<uint64_t>(512 << 20, 4 << 20); }

class Litter {
 public:
  explicit Litter(const Gpu& gpu)
      : gpu_(gpu), module_(Load(kModule)), blocks_(4 * static_cast<unsigned>(MultiprocessorCount(gpu.device))) {
    CU(cuMemAlloc_v2, &counts_, size_t{16});
  }

  void LeaveOnChip() {
    for (const char* kernel : {"in_shared", "in_local"})
      Launch(FunctionOf(module_, kernel), blocks_, 256, nullptr, kWord, uint64_t{0});
    CU(cuCtxSynchronize);
  }
  void LeaveInPages() {
    const PhysicalHandle handle = CreatePhysical(gpu_.device, PageBytes());
    const CUdeviceptr at = PlaceSlab(gpu_.device, PageBytes(), handle);
    CUdeviceptr plain = 0;
    CU(cuMemAlloc_v2, &plain, static_cast<size_t>(PageBytes()));
    for (const CUdeviceptr where : {at, plain})
      CU(cuMemsetD32_v2, where, 0x20206f6bu, static_cast<size_t>(PageBytes() / 4));
    CU(cuCtxSynchronize);
    RemoveSlab(at, PageBytes());
    CU(cuMemRelease, handle);
    CU(cuMemFree_v2, plain);
  }

  // Rows: how many words there were to look at, how many were the other's, how many were not zero.
  void FindOnChip(std::string_view whose) {
    for (const char* where : {"shared", "local"}) {
      CU(cuMemsetD32_v2, counts_, 0u, size_t{4});
      Launch(FunctionOf(module_, (std::string("in_") + where).c_str()), blocks_, 256, nullptr, kWord, counts_);
      CU(cuCtxSynchronize);
      const uint64_t words = blocks_ * (where[0] == 's' ? 4096ull : 256ull * 256);
      Record().Set("memory", where).Set("left by", whose).Set("words", words).Set("found", Counts()[0]).Write();
    }
  }
  void FindInPages(std::string_view whose) {
    CUdeviceptr plain = 0;
    const PhysicalHandle handle = CreatePhysical(gpu_.device, PageBytes());
    const CUdeviceptr slab = PlaceSlab(gpu_.device, PageBytes(), handle);
    CU(cuMemAlloc_v2, &plain, static_cast<size_t>(PageBytes()));
    for (const auto& [name, at] : {std::pair{"cuMemCreate", slab}, std::pair{"cuMemAlloc", plain}}) {
      CU(cuMemsetD32_v2, counts_, 0u, size_t{4});
      Launch(FunctionOf(module_, "find_pages"), 256, 256, nullptr, uint64_t{0x2020'6f6b'2020'6f6b}, counts_, at,
             PageBytes() / 8);
      CU(cuCtxSynchronize);
      Record()
          .Set("memory", name)
          .Set("left by", whose)
          .Set("words", PageBytes() / 8)
          .Set("found", Counts()[0])
          .Set("not zero", Counts()[1])
          .Write();
    }
  }

 private:
  std::array<uint64_t, 2> Counts() const {
    std::array<uint64_t, 2> counts{};
    CU(cuMemcpyDtoH_v2, static_cast<void*>(counts.data()), counts_, size_t{16});
    return counts;
  }

  const Gpu& gpu_;
  CUmodule module_;
  unsigned blocks_;
  CUdeviceptr counts_ = 0;  // two words of the device's memory, where atomic operations are sure
};

void Leaver(Channel& step, std::string_view) {
  const Gpu gpu = OpenGpu();
  Litter litter(gpu);
  litter.LeaveInPages();
  litter.LeaveOnChip();
  step.Say("left");
}

void SameProcess(std::string_view) {
  const Gpu gpu = OpenGpu();
  Litter litter(gpu);
  litter.LeaveOnChip();
  litter.FindOnChip("the same process");
  litter.LeaveInPages();
  litter.FindInPages("the same process");
}

void OtherProcess(std::string_view step) {
  const char* const whose = step == "under_mps" ? "another client of MPS" : "another process";
  const Gpu gpu = OpenGpu();
  Litter litter(gpu);
  Peer leaver("leaver");
  leaver.Expect("left");
  leaver.Finish();
  litter.FindOnChip(whose);
  litter.FindInPages(whose);
}

std::string Decide(const Evidence& evidence) {
  const auto found = [&](std::string_view step, std::string_view memory, const char* what) {
    double sum = 0;
    for (const Row* row : evidence.Of("P21", step))
      sum += row->Text("memory") == memory ? row->Number(what).value_or(0) : 0;
    return sum;
  };
  if (!evidence.Number("P21", "same_process", "found")) return evidence.Undecided("P21", "same_process");
  std::string text = found("same_process", "shared", "found") + found("same_process", "local", "found") > 0
                         ? "in `shared` kernels can read what others left in shared or local memory: SECURITY.md says "
                           "so, fenced kernels may get a prologue"
                         : "nothing of shared or local memory was found again";
  if (!evidence.Number("P21", "other_process", "found"))
    return text + "; between processes: " + evidence.Undecided("P21", "other_process");
  const bool chip = found("other_process", "shared", "found") + found("other_process", "local", "found") > 0;
  const bool pages =
      found("other_process", "cuMemCreate", "not zero") + found("same_process", "cuMemCreate", "not zero") > 0;
  return text + (chip ? "; between processes, too" : "; not between processes") +
         (pages ? "; fresh pages are not zero: every slab is cleared when it is handed out"
                : "; fresh pages came as zeros, and are cleared all the same (nothing promises it)");
}

constexpr Role kRoles[] = {{"leaver", Leaver}};
constexpr Step kSteps[] = {
    {"same_process", SameProcess, 10}, {"other_process", OtherProcess, 12}, {"under_mps", OtherProcess, 15, true}};

}  // namespace

const Probe kP21{"P21", "Whose bytes are in shared memory, local memory and pages that nobody has written?", kSteps,
                 kRoles, Decide};

}  // namespace tutti::gpu
