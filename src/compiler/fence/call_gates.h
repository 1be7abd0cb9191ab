// Calls by functions' numbers (call_graph.h): for each shape of such calls a function of the fence's own, as PTX text,
// that compares the number with those of the functions which it may be of, and calls one of them by name.
//
// Out of line, since what is passed to a call must be stored in its own basic block (PTX ISA, "Parameter State Space").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptx/ast.h"

namespace tutti::compiler::fencing {

// It takes what its functions do, and then the number, the function and the line of the call.
struct CallGate {
  std::string name;
  ptx::Prototype prototype;  // of the functions (GatePrototype)
  ptx::SymbolId symbol = 0;
  std::vector<uint32_t> targets;  // indices of functions
};

bool HaveSameShape(const ptx::Prototype& a, const ptx::Prototype& b);
// Parameters and results are all in memory, as compilers write them, and each is of no more than these: a gate moves
// them by instructions.
inline constexpr uint64_t kMostGateVariableBytes = 4096;
bool CanHaveGate(const ptx::Prototype& prototype);
// With variables of bits: of whichever types those of the functions are, an assembler takes them.
ptx::Prototype GatePrototype(ptx::Prototype prototype);

std::string GateText(const ptx::Module& module, const CallGate& gate);

}  // namespace tutti::compiler::fencing
