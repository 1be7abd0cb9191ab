#include "image/ptx_selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "cuda/result.h"
#include "image/cubin_ptx.h"
#include "image/elf.h"
#include "image/fatbin.h"
#include "image/image_kind.h"
#include "image/image_list.h"

namespace tutti::image {
namespace {

constexpr uint64_t kMaxBytes = 512ull << 20;  // of PTX, and of machine code decompressed to look for it, of one image

// Reached by the log, the program's JIT log and `tutti doctor`: says what would help.
std::unexpected<Error> NoPtx(std::string_view what, std::string_view remedy) {
  return Fail(cuda::CUDA_ERROR_NO_BINARY_FOR_GPU,
              fmt::format("the image holds {} only, and this device runs PTX; {}", what, remedy));
}

std::string MachineCodeFor(const std::set<uint32_t>& archs) {
  return fmt::format("machine code for sm_{}", fmt::join(archs, ", sm_"));
}

std::unexpected<Error> NoPtxInCubin(uint32_t arch) {
  return NoPtx(MachineCodeFor({arch}), "made with -lineinfo it would carry its PTX and run");
}

std::unexpected<Error> NoPtxInFatbin(const std::set<uint32_t>& archs, bool has_lto) {
  const std::string otherwise = has_lto ? "LTO intermediate code" : "nothing";
  return NoPtx(archs.empty() ? otherwise : MachineCodeFor(archs),
               "built with PTX in it, e.g. nvcc -gencode arch=compute_75,code=compute_75, it would run");
}

// The newest that `capability` allows, before the oldest of the others. Of one architecture generic code rather than
// architecture-specific (sm_90a), which may use instructions that only this chip has.
bool IsBetter(const FatbinEntry& a, const FatbinEntry& b, uint32_t capability) {
  const auto is_above = [=](const FatbinEntry& entry) { return capability != 0 && entry.arch > capability; };
  if (is_above(a) != is_above(b)) return is_above(b);
  if (a.arch != b.arch) return (a.arch > b.arch) != is_above(a);
  const uint64_t specific = kFlagArchSpecific | kFlagFamilySpecific;
  return (a.flags & specific) == 0 && (b.flags & specific) != 0;
}

class Selection {
 public:
  explicit Selection(uint32_t capability) : capability_(capability) {}

  Status Add(std::span<const uint8_t> bytes, bool in_list) {
    switch (KindOf(bytes)) {
      case ImageKind::kPtx: return AddText({bytes.begin(), bytes.end()}, 0);
      case ImageKind::kFatbin: return AddFatbins(bytes);
      case ImageKind::kElf: return AddCubin(bytes);
      case ImageKind::kImageList:
        return in_list ? Fail(cuda::CUDA_ERROR_INVALID_IMAGE, "a list of images within a list") : AddList(bytes);
      default: return Fail(cuda::CUDA_ERROR_INVALID_IMAGE, "neither a fatbin, nor a cubin, nor PTX text");
    }
  }

  std::vector<PtxText> Take() { return std::move(texts_); }

 private:
  Status AddList(std::span<const uint8_t> bytes) {
    TUTTI_ASSIGN(const auto images, ReadImageList(bytes));
    if (images.empty()) return Fail(cuda::CUDA_ERROR_INVALID_IMAGE, "the list of images is empty");
    for (const auto& image : images) TUTTI_TRY(Add(image, true));
    return {};
  }

  Status AddCubin(std::span<const uint8_t> bytes) {
    const uint32_t arch = CubinArch(bytes);
    if (arch == 0) return Fail(cuda::CUDA_ERROR_INVALID_IMAGE, "an ELF file, but not of device code");
    TUTTI_ASSIGN(const bool carries, AddCarried(bytes));
    return carries ? Status() : NoPtxInCubin(arch);
  }

  Status AddFatbins(std::span<const uint8_t> bytes) {
    TUTTI_ASSIGN(const Fatbins fatbins, ReadFatbins(bytes));
    std::vector<std::vector<const FatbinEntry*>> units(fatbins.units);
    std::set<uint32_t> archs;
    bool has_lto = false;
    for (const FatbinEntry& entry : fatbins.entries) {
      if (entry.kind == EntryKind::kElf) archs.insert(entry.arch);
      if (entry.kind == EntryKind::kLtoIr) has_lto = true;
      if (entry.kind == EntryKind::kPtx || entry.kind == EntryKind::kElf) units[entry.unit].push_back(&entry);
    }
    const size_t before = texts_.size();
    for (auto& entries : units) {
      std::ranges::stable_sort(entries, [&](const auto* a, const auto* b) { return IsBetter(*a, *b, capability_); });
      TUTTI_TRY(AddBest(entries));  // none: an empty fat binary is what the device linker leaves behind
    }
    if (texts_.size() > before) return {};
    return problem_ ? NoPtxInFatbin(archs, has_lto) : problem_;
  }

  // The best PTX of a unit, else what its best machine code carries. Nobody but us reads that code, so what is wrong
  // with it refuses no image that has PTX elsewhere, and of more than we unpack nothing is known.
  Status AddBest(std::span<const FatbinEntry* const> entries) {
    for (const FatbinEntry* entry : entries) {
      if (entry->kind != EntryKind::kPtx) continue;
      TUTTI_ASSIGN(const auto text, PayloadOf(*entry, left_));
      return AddText({text.begin(), text.end()}, entry->arch);
    }
    for (const FatbinEntry* entry : entries) {
      if (entry->uncompressed_bytes > machine_left_) continue;
      const auto carries = AddCarried(*entry);
      if (!carries && problem_) problem_ = std::unexpected(carries.error());
      if (carries && *carries) break;
    }
    return {};
  }

  Result<bool> AddCarried(const FatbinEntry& entry) {
    const auto cubin = PayloadOf(entry, machine_left_);
    machine_left_ -= std::min<uint64_t>(machine_left_, cubin ? cubin->size() : entry.uncompressed_bytes);
    if (!cubin) return std::unexpected(cubin.error());
    return KindOf(*cubin) == ImageKind::kElf ? AddCarried(*cubin) : false;
  }

  // Whether there is PTX in it.
  Result<bool> AddCarried(std::span<const uint8_t> cubin) {
    TUTTI_ASSIGN(const auto carried, CarriedPtx(cubin));
    for (const auto text : carried) {
      if (text.size() > left_) return TooMuch();
      TUTTI_TRY(AddText(PtxFrom(text), CubinArch(cubin)));
    }
    return !carried.empty();
  }

  Status AddText(std::string text, uint32_t arch) {
    while (text.ends_with('\0')) text.pop_back();
    if (text.size() > left_) return TooMuch();
    left_ -= text.size();
    texts_.push_back({std::move(text), arch});
    return {};
  }

  static std::unexpected<Error> TooMuch() { return Fail(cuda::CUDA_ERROR_INVALID_IMAGE, "more than 512 MiB of PTX"); }

  const uint32_t capability_;
  std::vector<PtxText> texts_;
  uint64_t left_ = kMaxBytes;
  Status problem_;  // the first of machine code
  uint64_t machine_left_ = kMaxBytes;  // of machine code that is unpacked to look for PTX in it
};

}  // namespace

Result<std::vector<PtxText>> SelectPtx(std::span<const uint8_t> bytes, uint32_t capability) {
  Selection selection(capability);
  TUTTI_TRY(selection.Add(bytes, false));
  return selection.Take();
}

}  // namespace tutti::image
