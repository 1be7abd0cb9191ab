// What becomes of a function's calls: of functions of the module, which are told where the stack is in use; of those of
// a runtime, which the fence does itself or refuses.
#pragma once

#include <initializer_list>
#include <string>

#include "compiler/fence/register_checks.h"

namespace tutti::compiler::fencing {

class CallFence : protected RegisterChecks {
 protected:
  CallFence(const ptx::Module& module, ptx::Function& function, uint32_t number, const FenceSymbols& symbols)
      : RegisterChecks(function, number, symbols), module_(module) {}

  void RewriteCall(const ptx::Instruction& instruction);

  // The thread's stack from this function's variables to its kernel's: what pointers to local memory may reach. Empty
  // where the lower bound is above the upper one.
  ptx::Operand LowOf() { return LocalBound(low_, "low"); }
  ptx::Operand HighOf() { return LocalBound(high_, "high"); }
  // Of the function's begin, when all that needs them has been written.
  void MakeLocalBounds();

  void Refuse(std::string why) { refusal_ = std::move(why); }

  static constexpr uint32_t kNone = ~0u;

  const ptx::Module& module_;
  std::string refusal_;
  bool calls_ = false;  // a function of the module

 private:
  ptx::Operand LocalBound(ptx::RegisterId& id, const char* name);
  void RewriteRuntimeCall(const ptx::Instruction& instruction, const ptx::Function& callee);
  void Print(ptx::Instruction call);
  void SayAssertion(const ptx::Instruction& call, const ptx::Prototype& prototype);
  void PassLocalBounds(ptx::Instruction instruction);
  void CheckTarget(const ptx::Instruction& instruction);
  void CallByNumber(ptx::Instruction call);

  ptx::RegisterId low_ = kNone, high_ = kNone;
};

}  // namespace tutti::compiler::fencing
