#include "ptx/modifier.h"

#include "ptx/name_table.h"

namespace tutti::ptx {
namespace {

constexpr std::string_view kNames[] = {
#define TUTTI_PTX_MODIFIER(enumerator, text) text,
#include "ptx/modifier.def"
#undef TUTTI_PTX_MODIFIER
};

const NameTable<Modifier>& Table() {
  static const NameTable<Modifier> table(kNames);
  return table;
}

}  // namespace

bool IsHint(Modifier modifier) {
  using enum Modifier;
  switch (modifier) {
    case kCa:
    case kCg:
    case kCs:
    case kLu:
    case kWb:
    case kWt:
    case kL1EvictNormal:
    case kL1EvictUnchanged:
    case kL1EvictFirst:
    case kL1EvictLast:
    case kL1NoAllocate:
    case kL2EvictNormal:
    case kL2EvictFirst:
    case kL2EvictLast:
    case kL2EvictUnchanged:
    case kL2CacheHint:
    case kL2_64B:
    case kL2_128B:
    case kL2_256B:
    case kLevelEvictionPriority:
    case kUni:
    case kAligned: return true;
    default: return false;
  }
}

std::string_view NameOf(Modifier modifier) { return Table().Name(modifier); }
std::optional<Modifier> ModifierFromName(std::string_view name) { return Table().Find(name); }

}  // namespace tutti::ptx
