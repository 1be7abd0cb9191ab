// alloca, stacksave, stackrestore: memory that a function takes while it runs.
//
// A thread has one stack for all its functions, kLocalStackBytes of its local memory. Its first word is the offset of
// the top, so that functions need not pass it on. A function that changes the top sets it back when it returns. What
// stackrestore is given is not trusted and need not be: accesses are checked where they are made.
#include <algorithm>

#include "compiler/contract/local_stack.h"
#include "compiler/lower/families.h"

namespace tutti::compiler::lowering {
namespace {

constexpr uint64_t kTopBytes = 8;
constexpr uint64_t kDefaultAlignment = 8;

llvm::Value* StackBase(Emitter& e, llvm::IRBuilder<>& ir) {
  constexpr IntrinsicName kStack = "tutti.stack";
  const llvm::FunctionCallee stack =
      e.module().Declare(kStack.get(), llvm::FunctionType::get(ir.getInt64Ty(), false), Effect::kPure);
  return ir.CreateCall(stack);
}

// Where the offset of the top is.
llvm::Value* TopOf(llvm::IRBuilder<>& ir, llvm::Value* base) {
  return ir.CreateIntToPtr(base, ir.getPtrTy(kLocalSpace));
}

llvm::Value* LoadTop(llvm::IRBuilder<>& ir, llvm::Value* base) {
  return ir.CreateAlignedLoad(ir.getInt64Ty(), TopOf(ir, base), llvm::Align(kTopBytes));
}

void StoreTop(llvm::IRBuilder<>& ir, llvm::Value* base, llvm::Value* top) {
  ir.CreateAlignedStore(top, TopOf(ir, base), llvm::Align(kTopBytes));
}

}  // namespace

bool UsesStack(const ptx::Function& function) {
  return std::ranges::any_of(function.instructions, [](const ptx::Instruction& instruction) {
    return instruction.opcode == ptx::Opcode::kAlloca || instruction.opcode == ptx::Opcode::kStacksave ||
           instruction.opcode == ptx::Opcode::kStackrestore;
  });
}

void Emitter::EnterStack() {
  const auto uses = [this](uint32_t function) { return UsesStack(source().functions[function]); };
  llvm::IRBuilder<> at(entry_);
  if (is_kernel()) {
    if (std::ranges::any_of(module_.kernel().functions, uses))
      StoreTop(at, StackBase(*this, at), at.getInt64(kTopBytes));
  } else if (uses(function_index_)) {
    stack_before_ = NewAlloca(at.getInt64Ty(), "stack_before");
    at.CreateStore(LoadTop(at, StackBase(*this, at)), stack_before_);
  }
}

void Emitter::LeaveStack() {
  if (stack_before_ != nullptr) StoreTop(ir, StackBase(*this, ir), ir.CreateLoad(ir.getInt64Ty(), stack_before_));
}

// alloca.type d, size{, alignment}
void EmitAlloca(Emitter& e) {
  auto& ir = e.ir;
  if (e.type() != ptx::Type::kU64) return e.Refuse("addresses of local memory have 64 bits");
  const uint64_t alignment = e.operands() > 2 ? e.operand(2).bits : kDefaultAlignment;
  llvm::Value* base = StackBase(e, ir);
  llvm::Value* bytes = e.In(1);
  llvm::Value* address = ir.CreateAdd(ir.CreateAdd(base, LoadTop(ir, base)), ir.getInt64(alignment - 1));
  address = ir.CreateAnd(address, ir.getInt64(~(alignment - 1)));
  llvm::Value* offset = ir.CreateSub(address, base);
  llvm::Value* room = ir.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, ir.getInt64(kLocalStackBytes), offset);
  llvm::BasicBlock *overflow = e.NewBlock("overflow"), *fits = e.NewBlock("fits");
  ir.CreateCondBr(ir.CreateICmpULE(bytes, room), fits, overflow);
  ir.SetInsertPoint(overflow);
  e.Fault(guest::FaultKind::kHardwareStackError);
  ir.CreateUnreachable();
  ir.SetInsertPoint(fits);
  StoreTop(ir, base, ir.CreateAdd(offset, bytes));
  e.Out(address);
}

void EmitStackSave(Emitter& e) { e.Out(LoadTop(e.ir, StackBase(e, e.ir)), ptx::Type::kU64); }

void EmitStackRestore(Emitter& e) { StoreTop(e.ir, StackBase(e, e.ir), e.ir.CreateZExt(e.In(0), e.ir.getInt64Ty())); }

}  // namespace tutti::compiler::lowering
