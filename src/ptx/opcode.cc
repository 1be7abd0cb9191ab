#include "ptx/opcode.h"

#include "ptx/name_table.h"

namespace tutti::ptx {
namespace {

constexpr std::string_view kNames[] = {
#define TUTTI_PTX_OPCODE(enumerator, text) text,
#include "ptx/opcode.def"
#undef TUTTI_PTX_OPCODE
};

const NameTable<Opcode>& Table() {
  static const NameTable<Opcode> table(kNames);
  return table;
}

}  // namespace

std::string_view NameOf(Opcode opcode) { return Table().Name(opcode); }
std::optional<Opcode> OpcodeFromName(std::string_view name) { return Table().Find(name); }

}  // namespace tutti::ptx
