// The accumulator has up to 128 registers of 32 lanes, 16 KiB: it goes to the runtime and back through memory of the
// function's frame. Accumulators of one size share that memory, so that from one product to the next what was loaded
// need not be stored again.
#include "compiler/widen/memory/warp_group.h"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <string>

#include "compiler/widen/emit/function_emitter.h"

namespace tutti::compiler {
namespace {

using llvm::Value;

constexpr unsigned kFirstSum = 8, kLeftRegisters = 4;
constexpr uint64_t kProductStackBytes = 24 << 10;  // of tutti_wgmma_*: A expanded, and what the code generator spills

class WarpGroup {
 public:
  WarpGroup(FunctionEmitter& emitter, const llvm::CallInst& call)
      : emitter_(emitter), builder_(emitter.builder()), call_(call) {}

  // suffix: "n64.f32.f16.f16"
  void Emit(llvm::StringRef suffix) {
    const unsigned count = call_.arg_size() - kFirstSum;
    llvm::AllocaInst* left = Registers("wgmma.a", 4, kLeftRegisters);
    llvm::AllocaInst* sums = Registers("wgmma.d", kFirstSum, count);
    std::string name = "tutti_wgmma_" + suffix.split('.').second.str();
    std::ranges::replace(name, '.', '_');
    llvm::Type *i32 = builder_.getInt32Ty(), *i64 = builder_.getInt64Ty(), *pointer = builder_.getPtrTy();
    builder_.CreateCall(
        emitter_.module().Runtime(name, builder_.getVoidTy(), {pointer, i32, i32, i32, i64, i64, pointer, pointer}),
        {emitter_.abi().warp(), emitter_.Location(call_), Common(0), builder_.CreateZExt(Common(1), i32), Common(2),
         Common(3), left, sums});
    uint64_t& stack = emitter_.module().runtime_stack_bytes;
    stack = std::max(stack, kProductStackBytes + uint64_t{count + kLeftRegisters} * 4 * kLanes);
    llvm::SmallVector<Value*, 128> results;
    for (unsigned i = 0; i < count; ++i) {
      llvm::Type* type = Values::Wide(call_.getArgOperand(kFirstSum + i)->getType());
      results.push_back(builder_.CreateLoad(type, Register(sums, i)));
    }
    emitter_.Define(call_, results);
  }

 private:
  // An argument that is uniform, or else the lowest lane's: they are said to be the same.
  Value* Common(unsigned i) {
    const Value* argument = call_.getArgOperand(i);
    if (emitter_.shape(argument).is_uniform()) return emitter_.values().Uniform(argument);
    return builder_.CreateExtractElement(emitter_.values().Vector(argument), emitter_.FirstLane());
  }

  // `count` arguments from `first` on, in memory of the function that is called `name`.
  llvm::AllocaInst* Registers(llvm::StringRef name, unsigned first, unsigned count) {
    llvm::Type* type = llvm::ArrayType::get(Values::Wide(builder_.getInt32Ty()), count);
    llvm::AllocaInst* memory = nullptr;
    for (llvm::Instruction& instruction : emitter_.values().Slots()) {
      auto* slot = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
      if (slot != nullptr && slot->getName().starts_with(name) && slot->getAllocatedType() == type) memory = slot;
    }
    if (memory == nullptr) memory = emitter_.values().Slot(type, name);
    for (unsigned i = 0; i < count; ++i)
      builder_.CreateStore(emitter_.values().Vector(call_.getArgOperand(first + i)), Register(memory, i));
    return memory;
  }
  Value* Register(llvm::AllocaInst* memory, unsigned i) {
    return builder_.CreateConstInBoundsGEP2_32(memory->getAllocatedType(), memory, 0, i);
  }

  FunctionEmitter& emitter_;
  llvm::IRBuilder<>& builder_;
  const llvm::CallInst& call_;
};

}  // namespace

bool EmitWarpGroup(FunctionEmitter& emitter, const llvm::CallInst& call, const IntrinsicCall& intrinsic) {
  if (intrinsic.kind != Intrinsic::kWarpGroup) return false;
  WarpGroup(emitter, call).Emit(intrinsic.suffix);
  return true;
}

}  // namespace tutti::compiler
