#include "image/cubin_variables.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "image/elf.h"
#include "image/fatbin.h"
#include "image/image_kind.h"

namespace tutti::image {
namespace {

constexpr uint8_t kManaged = 0x04;

// Whether each is managed, by its name.
using Variables = std::map<std::string, bool>;

void AddObjects(std::span<const uint8_t> cubin, Variables* variables) {
  const auto symbols = SectionsNamed(cubin, ".symtab"), texts = SectionsNamed(cubin, ".strtab");
  if (!symbols || symbols->empty() || !texts || texts->empty()) return;
  const std::span<const uint8_t> table = symbols->front(), names = texts->front();
  for (size_t at = 0; at + sizeof(Elf64_Sym) <= table.size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, table.data() + at, sizeof symbol);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_name >= names.size()) continue;
    const auto* const text = reinterpret_cast<const char*>(names.data()) + symbol.st_name;
    (*variables)[std::string(text, strnlen(text, names.size() - symbol.st_name))] |= (symbol.st_other & kManaged) != 0;
  }
}

}  // namespace

std::vector<CubinVariable> CubinVariables(std::span<const uint8_t> bytes, uint64_t limit) {
  Variables found;
  if (KindOf(bytes) == ImageKind::kElf) {
    AddObjects(bytes, &found);
  } else if (const auto fatbins = ReadFatbins(bytes)) {
    for (const FatbinEntry& entry : fatbins->entries) {
      if (entry.kind != EntryKind::kElf) continue;
      const auto cubin = PayloadOf(entry, limit);
      if (cubin) AddObjects(*cubin, &found);
      limit -= std::min<uint64_t>(limit, cubin ? cubin->size() : 0);
    }
  }
  std::vector<CubinVariable> variables;
  for (const auto& [name, is_managed] : found) variables.push_back({name, is_managed});
  return variables;
}

}  // namespace tutti::image
