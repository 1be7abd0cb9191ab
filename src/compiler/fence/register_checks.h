// Checks of what registers hold, besides addresses: values of which the hardware makes a fault, or of which nobody says
// what it makes.
#pragma once

#include <cstdint>

#include "compiler/fence/function_fence.h"
#include "compiler/fence/function_writer.h"
#include "guest/fault_kind.h"

namespace tutti::compiler::fencing {

class RegisterChecks : protected FunctionWriter {
 protected:
  // `number`: the function's, in records of faults.
  RegisterChecks(ptx::Function& function, uint32_t number, const FenceSymbols& symbols)
      : FunctionWriter(function), number_(number), symbols_(symbols) {}

  void EmitFault(guest::FaultKind kind, ptx::Operand address);
  void FaultIf(ptx::RegisterId condition, guest::FaultKind kind, ptx::Operand address);
  // What `body` writes is done where the instruction is.
  template <typename Body>
  void Guarded(const ptx::Instruction& instruction, Body body) {
    if (!instruction.guard) return body();
    const ptx::LabelId over = NewLabel();
    Emit(ptx::Opcode::kBra, {}, {}, {Label(over)}).guard =
        ptx::Guard{instruction.guard->predicate, !instruction.guard->negated};
    body();
    Place(over);
  }

  // A barrier that no block has, or a number of threads that is no warps', is a fault of the hardware. Of numbers in
  // the text the assembler knows.
  void CheckBarrier(const ptx::Instruction& instruction);
  // The instruction without a policy of a cache that may be none, with the lane that says which ones meet, and with no
  // more bytes to copy than there are.
  ptx::Instruction Harmless(ptx::Instruction instruction);

  const uint32_t number_;
  const FenceSymbols& symbols_;

 private:
  void AddOwnLane(ptx::Operand& members);
  void LimitSource(ptx::Instruction& copy);
};

}  // namespace tutti::compiler::fencing
