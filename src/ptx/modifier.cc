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

std::string_view NameOf(Modifier modifier) { return Table().Name(modifier); }
std::optional<Modifier> ModifierFromName(std::string_view name) { return Table().Find(name); }

}  // namespace tutti::ptx
