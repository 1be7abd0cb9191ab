// Lowers the body of one function, instruction by instruction, to unoptimised IR: registers are allocas that SROA turns
// into SSA form later.
//
// The families (integer.cc, memory.cc, ...) are free functions of an Emitter, found by opcode in families.h. They say
// what an instruction computes and nothing else; guards, debug locations and diagnostics are handled here. A family
// that cannot lower something calls Refuse and may carry on as if it could; the values it gets then are zeros.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/contract/intrinsics.h"
#include "compiler/lower/llvm.h"
#include "compiler/lower/module_emitter.h"
#include "compiler/lower/types.h"
#include "guest/fault_kind.h"
#include "ptx/ast.h"
#include "ptx/modifier_use.h"

namespace tutti::compiler::lowering {

enum AddressSpace : unsigned {
  kGenericSpace = 0,
  kGlobalSpace = 1,
  kSharedSpace = 3,
  kConstSpace = 4,
  kLocalSpace = 5,
  kParamSpace = 101,
};

class Emitter {
 public:
  Emitter(ModuleEmitter& module, uint32_t function, llvm::Function* ir_function);
  void EmitBody();

  llvm::IRBuilder<> ir;

  // --- The instruction being lowered.
  const ptx::Instruction& instruction() const { return *instruction_; }
  // A modifier that no family asks for, and that is neither a hint nor implied (implied_modifiers.h), is refused.
  bool Has(ptx::Modifier modifier) const { return modifiers_.Has(modifier); }
  // The n-th type; the last one if there are fewer.
  ptx::Type type(size_t n = 0) const;
  size_t operands() const { return instruction_->operands.size(); }
  // The n-th operand; refuses and gives a sink if there are fewer.
  const ptx::Operand& operand(size_t n);
  // The elements of a vector operand, or the operand itself.
  std::vector<const ptx::Operand*> Elements(const ptx::Operand& operand);
  // The statement cannot be lowered: valid PTX that is not supported, or (Invalid) not valid PTX.
  void Refuse(std::string reason);
  void Invalid(std::string reason);
  bool refused() const { return refused_; }

  // --- Values. In: operand n read as a type (default: the instruction's first). Out: the destination.
  llvm::Value* In(size_t n) { return Read(operand(n), type()); }
  llvm::Value* In(size_t n, ptx::Type as) { return Read(operand(n), as); }
  void Out(llvm::Value* value) { Write(operand(0), value, type()); }
  void Out(llvm::Value* value, ptx::Type as) { Write(operand(0), value, as); }
  llvm::Value* Read(const ptx::Operand& operand, ptx::Type as);
  void Write(const ptx::Operand& operand, llvm::Value* value, ptx::Type as);
  // The carry flag of add.cc and its like.
  llvm::Value* ReadCarry();
  void WriteCarry(llvm::Value* carry);

  // --- Memory.
  // Pointer of an address operand, in the LLVM address space of `space` (of the variable itself where one is named).
  llvm::Value* Pointer(const ptx::Operand& operand, ptx::StateSpace space);
  // Pointer from the bits of an address.
  llvm::Value* PointerFrom(llvm::Value* bits, unsigned address_space);
  // The integer that is the address of a variable or function (i64).
  llvm::Value* AddressOfSymbol(uint32_t symbol, int64_t offset);
  llvm::Value* AddressOfLocal(uint32_t local, int64_t offset);
  // Where a .param or .local variable of a device function lives; null if it has no storage of its own here.
  llvm::AllocaInst* Storage(uint32_t local);

  // Where the function's calls of the device runtime have their arguments (guest/device_runtime.h).
  llvm::AllocaInst* RuntimeWords();

  // --- Calls of tutti.*.
  llvm::Value* Call(IntrinsicName name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments, Effect effect);
  llvm::Value* Call(IntrinsicFamily family, llvm::StringRef member, llvm::Type* result,
                    llvm::ArrayRef<llvm::Value*> arguments, Effect effect);
  // Lane `lane`'s part of a 32-bit value, in an instruction that all threads of the warp execute together (.aligned).
  llvm::Value* FromLane(llvm::Value* value, llvm::Value* lane);
  llvm::Value* CallI32(IntrinsicName name) { return Call(name, ir.getInt32Ty(), {}, Effect::kPure); }
  llvm::Value* CallI64(IntrinsicName name) { return Call(name, ir.getInt64Ty(), {}, Effect::kPure); }
  // tutti.fn.<name>: result and arguments of the type of the first argument.
  llvm::Value* CallFn(llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments);
  // An LLVM intrinsic overloaded on the type of its first argument.
  llvm::Value* Intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Value*> arguments);

  // --- Control.
  llvm::BasicBlock* NewBlock(const char* name);
  llvm::BasicBlock* BlockOf(ptx::LabelId label);
  // The value of the instruction's guard, and null if it has none.
  llvm::Value* Guard();
  // Ends the lane with a fault; what follows is unreachable.
  void Fault(guest::FaultKind kind);
  // Stores the values of the .param return variables and returns.
  void Return();
  void Exit();

  ModuleEmitter& module() { return module_; }
  const ptx::Module& source() const { return module_.source(); }
  const ptx::Function& function() const { return function_; }
  uint32_t function_index() const { return function_index_; }
  bool is_kernel() const { return function_.is_entry; }
  llvm::LLVMContext& context() { return ir.getContext(); }
  llvm::Value* Zero(ptx::Type type);

 private:
  llvm::Value* CallNamed(llvm::StringRef name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments,
                         Effect effect);
  void EmitInstruction(const ptx::Instruction& instruction);
  void EmitGuarded();
  void RefuseUnseenModifiers();
  void StoreArguments();
  void EnterStack();  // stack.cc
  void LeaveStack();
  void Report(std::string reason, bool invalid);
  llvm::AllocaInst* Register(ptx::RegisterId id);
  llvm::AllocaInst* Carry();
  llvm::AllocaInst* NewAlloca(llvm::Type* type, const llvm::Twine& name);
  llvm::Value* Immediate(const ptx::Operand& operand, ptx::Type as);
  llvm::Value* SpaceAddress(llvm::Value* base, int64_t offset, unsigned address_space);

  ModuleEmitter& module_;
  const ptx::Function& function_;
  const uint32_t function_index_;
  llvm::Function* const ir_function_;
  llvm::DISubprogram* subprogram_ = nullptr;
  const ptx::Instruction* instruction_ = nullptr;
  ptx::ModifierUse modifiers_;  // of instruction_
  bool refused_ = false;
  llvm::Value* select_guard_ = nullptr;  // where a guard selects between old and new value
  llvm::BasicBlock* entry_ = nullptr;  // only allocas and their first values
  std::vector<llvm::AllocaInst*> registers_;
  std::vector<llvm::AllocaInst*> storage_;
  std::vector<llvm::BasicBlock*> labels_;
  llvm::AllocaInst* carry_ = nullptr;
  llvm::AllocaInst* runtime_words_ = nullptr;
  llvm::AllocaInst* stack_before_ = nullptr;  // the top of the stack when the function was called
};

// What the instruction is, without its operands: "add.rn.f32".
std::string FormOf(const ptx::Instruction& instruction);

}  // namespace tutti::compiler::lowering
