// Adds the checks to one function of a module.
//
// An access to [r + 8] of 4 bytes is preceded by this, with registers that are set at the function's start:
//
//     add.u64 t, r, 8;  sub.u64 u, t, start;  setp.ge.u64 p, u, limit;  and.b64 u, t, 3;  setp.ne.or.b64 p, u, 0, p;
//     @!p bra ok;  call __tutti_check, (r + 8, 4, ...);  ok:
//
// `start` and `limit` are those of the memory that the instruction names; for generic addresses the run in the client's
// window, which is where most point. __tutti_check knows what else an address may refer to.
//
// A jump back is preceded by a count of such jumps; at each 1,024th the thread looks whether it is to end.
#pragma once

#include <string>
#include <vector>

#include "compiler/fence/access.h"
#include "compiler/fence/call_gates.h"
#include "guest/fault_kind.h"
#include "ptx/ast.h"

namespace tutti::compiler::fencing {

// What all functions of the module share: indices in Module::symbols, and facts.
struct FenceSymbols {
  ptx::SymbolId words = 0, check = 0, fault = 0, poll = 0, dynamic_shared = 0;
  ptx::SymbolId begin = 0;  // where kernels have a parameter for their launch's number
  ptx::SymbolId print = 0, assertion = 0;  // where `prints` is not, and the module does
  ptx::StateSpace words_space = ptx::StateSpace::kConst;
  bool has_local = false;  // functions take the bounds of local memory as two more parameters
  std::vector<ptx::SymbolId> constants;  // constant variables
  std::vector<uint32_t> called_by_address;  // indices of functions
  std::vector<CallGate> gates;  // where there are no addresses
  bool prints = true, calls_by_address = true;  // FenceOptions
};

// In place. Returns why it cannot be done, or an empty string. On failure the function is unusable.
std::string FenceFunction(const ptx::Module& module, ptx::Function& function, uint32_t number,
                          const FenceSymbols& symbols);

// A call of __tutti_fault.
ptx::Instruction FaultCall(const FenceSymbols& symbols, guest::FaultKind kind, uint32_t function, uint32_t line);

}  // namespace tutti::compiler::fencing
