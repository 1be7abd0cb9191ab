#include "image/code_census.h"

#include <algorithm>
#include <vector>

#include "image/cubin_ptx.h"
#include "image/elf.h"
#include "image/fatbin.h"

namespace tutti::image {
namespace {

struct Unit {
  std::set<uint32_t> ptx;
  std::vector<const FatbinEntry*> machine;
  bool has_other = false;  // LTO intermediate code
};

struct MachineCode {
  std::set<uint32_t> carrying;  // the architectures whose code carries PTX
  bool unseen = false;          // some of it, for the limit
  bool has_functions = false;   // unless there are none in any, as in what nvcc's device linker leaves behind
};

MachineCode LookInto(const Unit& unit, uint64_t* left) {
  MachineCode found;
  for (const FatbinEntry* entry : unit.machine) {
    const auto cubin = PayloadOf(*entry, *left);
    found.unseen |= !cubin && entry->uncompressed_bytes > *left;
    *left -= std::min<uint64_t>(*left, cubin ? cubin->size() : entry->uncompressed_bytes);
    const auto functions = cubin ? SectionsNamed(*cubin, ".text") : Fail("");
    found.has_functions |= !functions || !functions->empty();  // of damaged ones nothing else is known
    const auto texts = cubin ? CarriedPtx(*cubin) : Fail("");
    if (texts && !texts->empty()) found.carrying.insert(entry->arch);
  }
  return found;
}

}  // namespace

Status CountCode(std::span<const uint8_t> bytes, uint64_t most_bytes, CodeCensus* census) {
  TUTTI_ASSIGN(const Fatbins fatbins, ReadFatbins(bytes));
  std::vector<Unit> units(fatbins.units);
  for (const FatbinEntry& entry : fatbins.entries) {
    Unit& unit = units[entry.unit];
    if (entry.kind == EntryKind::kPtx) {
      unit.ptx.insert(entry.arch);
    } else if (entry.kind == EntryKind::kElf) {
      unit.machine.push_back(&entry);
    } else {
      unit.has_other = true;
    }
  }
  for (Unit& unit : units) {
    bool has_functions = !unit.ptx.empty() || unit.has_other, unseen = false;
    if (unit.ptx.empty()) {
      MachineCode found = LookInto(unit, &most_bytes);
      unit.ptx = std::move(found.carrying);
      has_functions |= found.has_functions;
      unseen = found.unseen;
    }
    if (!has_functions) continue;
    ++census->images;
    if (unit.ptx.empty()) {
      census->unseen += unseen;
      for (const FatbinEntry* entry : unit.machine) census->machine_archs.insert(entry->arch);
    } else {
      ++census->with_ptx;
      census->ptx_archs.merge(unit.ptx);
    }
  }
  return {};
}

}  // namespace tutti::image
