#include "image/cubin_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "image/elf.h"
#include "image/fatbin.h"
#include "image/image_kind.h"
#include "image/image_list.h"

namespace tutti::image {
namespace {

constexpr uint8_t kManaged = 0x04;
constexpr std::string_view kOfVariables[] = {".nv.global",    ".nv.constant",  ".nv.constant0", ".nv.constant1",
                                             ".nv.constant2", ".nv.constant3", ".nv.constant4", ".nv.constant5"};

// Machine code runs on devices of its major number that are not older.
bool MayRun(const FatbinEntry& entry, uint32_t capability) {
  return capability == 0 || (entry.arch / 10 == capability / 10 && entry.arch <= capability);
}

class Reader {
 public:
  // `limit`: bytes that may be unpacked.
  Reader(uint64_t limit, uint32_t capability) : limit_(limit), capability_(capability) { found.units = 0; }

  void AddImage(std::span<const uint8_t> bytes) {
    const ImageKind kind = KindOf(bytes);
    if (kind == ImageKind::kElf) {
      const auto taken = Add(bytes);
      found.is_unread |= !taken;
      Count(taken.value_or(0));
    } else if (const auto fatbins = ReadFatbins(bytes)) {
      AddFatbins(*fatbins);
    } else {
      found.is_unread |= kind != ImageKind::kPtx;  // a driver may read more of it
      Count(0);
    }
  }

  CubinSymbols found;

 private:
  // Of one unit.
  void Count(uint64_t bytes) {
    ++found.units;
    found.variable_bytes = CheckedAdd(found.variable_bytes, bytes).value_or(~uint64_t{0});
  }

  void AddFatbins(const Fatbins& fatbins) {
    // What may run comes first, whatever else there is to be unpacked.
    std::vector<const FatbinEntry*> entries;
    for (const FatbinEntry& entry : fatbins.entries)
      if (entry.kind == EntryKind::kElf) entries.push_back(&entry);
    std::ranges::stable_partition(entries, [&](const FatbinEntry* entry) { return MayRun(*entry, capability_); });
    std::vector<uint64_t> taken(fatbins.units);
    for (const FatbinEntry* const entry : entries) {
      const auto cubin = PayloadOf(*entry, limit_);
      const auto added = cubin ? Add(*cubin) : std::unexpected(cubin.error());
      if (MayRun(*entry, capability_)) {
        if (added) taken[entry->unit] = std::max(taken[entry->unit], *added);
        found.is_unread |= !added;
      }
      limit_ -= std::min<uint64_t>(limit_, cubin ? cubin->size() : entry->uncompressed_bytes);  // it was unpacked, too
    }
    for (const uint64_t unit : taken) Count(unit);
  }

  // What its variables take. Symbols may begin anywhere in the table of names, so many of them may have its bytes.
  Result<uint64_t> Add(std::span<const uint8_t> cubin) {
    TUTTI_ASSIGN(const auto symbols, SectionsNamed(cubin, ".symtab"));
    TUTTI_ASSIGN(const auto texts, SectionsNamed(cubin, ".strtab"));
    if (!symbols.empty() && !texts.empty()) AddSymbols(symbols.front(), texts.front());
    return BytesWhenLoaded(cubin, kOfVariables);
  }

  void AddSymbols(std::span<const uint8_t> table, std::span<const uint8_t> names) {
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= table.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, table.data() + at, sizeof symbol);
      const int type = ELF64_ST_TYPE(symbol.st_info);
      const bool is_missing = type == STT_FUNC && symbol.st_shndx == SHN_UNDEF;
      if ((type != STT_OBJECT && !is_missing) || symbol.st_name >= names.size()) continue;
      const auto* const text = reinterpret_cast<const char*>(names.data()) + symbol.st_name;
      const size_t most = std::min({names.size() - symbol.st_name, kMostSymbolName + 1, left_});
      const std::string name(text, strnlen(text, most));
      left_ -= name.size();
      if (left_ == 0) return;
      if (name.size() > kMostSymbolName) continue;
      if (is_missing) {
        found.missing.insert(name);
      } else {
        found.variables[name] |= (symbol.st_other & kManaged) != 0;
      }
    }
  }

  uint64_t limit_;
  const uint32_t capability_;
  size_t left_ = kMostSymbolNames;
};

}  // namespace

CubinSymbols ReadCubinSymbols(std::span<const uint8_t> bytes, uint64_t limit, uint32_t capability) {
  Reader reader(limit, capability);
  if (KindOf(bytes) != ImageKind::kImageList) {
    reader.AddImage(bytes);
    return std::move(reader.found);
  }
  if (const auto images = ReadImageList(bytes)) {
    for (const auto& image : *images) reader.AddImage(image);
  } else {
    reader.found.is_unread = true;
  }
  return std::move(reader.found);
}

}  // namespace tutti::image
