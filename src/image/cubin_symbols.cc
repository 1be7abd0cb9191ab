#include "image/cubin_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "image/elf.h"
#include "image/fatbin.h"
#include "image/image_kind.h"

namespace tutti::image {
namespace {

constexpr uint8_t kManaged = 0x04;

void Add(std::span<const uint8_t> cubin, CubinSymbols* found) {
  const auto symbols = SectionsNamed(cubin, ".symtab"), texts = SectionsNamed(cubin, ".strtab");
  if (!symbols || symbols->empty() || !texts || texts->empty()) return;
  const std::span<const uint8_t> table = symbols->front(), names = texts->front();
  for (size_t at = 0; at + sizeof(Elf64_Sym) <= table.size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, table.data() + at, sizeof symbol);
    const int type = ELF64_ST_TYPE(symbol.st_info);
    const bool is_missing = type == STT_FUNC && symbol.st_shndx == SHN_UNDEF;
    if ((type != STT_OBJECT && !is_missing) || symbol.st_name >= names.size()) continue;
    const auto* const text = reinterpret_cast<const char*>(names.data()) + symbol.st_name;
    const std::string name(text, strnlen(text, names.size() - symbol.st_name));
    if (is_missing) {
      found->missing.insert(name);
    } else {
      found->variables[name] |= (symbol.st_other & kManaged) != 0;
    }
  }
}

}  // namespace

CubinSymbols ReadCubinSymbols(std::span<const uint8_t> bytes, uint64_t limit) {
  CubinSymbols found;
  if (KindOf(bytes) == ImageKind::kElf) {
    Add(bytes, &found);
  } else if (const auto fatbins = ReadFatbins(bytes)) {
    for (const FatbinEntry& entry : fatbins->entries) {
      if (entry.kind != EntryKind::kElf) continue;
      const auto cubin = PayloadOf(entry, limit);
      if (cubin) Add(*cubin, &found);
      limit -= std::min<uint64_t>(limit, cubin ? cubin->size() : 0);
    }
  }
  return found;
}

}  // namespace tutti::image
