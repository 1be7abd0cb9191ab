// Per lane, with b and c as in the PTX ISA: a segment mask in c[12:8] and a clamp in c[4:0] bound the lanes that can be
// read.
//
//   max = (lane & segment) | (clamp & ~segment), min = lane & segment
//   up:   j = lane - b, in range if j >= max       down: j = lane + b, in range if j <= max
//   bfly: j = lane ^ b, in range if j <= max       idx:  j = min | (b & ~segment), in range if j <= max
//   out of range: j = lane
//
// The same few lines serve constants and vectors: on constants IRBuilder folds them, and what is left is a
// shufflevector.
#include "compiler/widen/warp/shuffle.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "compiler/widen/emit/function_emitter.h"

namespace tutti::compiler {
namespace {

using llvm::Value;

class Shuffle {
 public:
  explicit Shuffle(FunctionEmitter& emitter) : emitter_(emitter), builder_(emitter.builder()) {}

  struct Source {
    Value* lane;  // <32 x i32>
    Value* in_range;  // <32 x i1>
  };

  Source Find(llvm::StringRef mode, Value* b, Value* c) {
    Value* lane = LaneNumbers(builder_);
    b = builder_.CreateAnd(b, Number(31));
    Value* clamp = builder_.CreateAnd(c, Number(31));
    Value* segment = builder_.CreateAnd(builder_.CreateLShr(c, Number(8)), Number(31));
    Value* outside = builder_.CreateNot(segment);
    Value* low = builder_.CreateAnd(lane, segment);
    Value* high = builder_.CreateOr(low, builder_.CreateAnd(clamp, outside));
    Value *j, *in_range;
    if (mode == "up") {
      j = builder_.CreateSub(lane, b);
      in_range = builder_.CreateICmpSGE(j, high);
    } else {
      if (mode == "down") {
        j = builder_.CreateAdd(lane, b);
      } else if (mode == "bfly") {
        j = builder_.CreateXor(lane, b);
      } else {
        j = builder_.CreateOr(low, builder_.CreateAnd(b, outside));
      }
      in_range = builder_.CreateICmpSLE(j, high);
    }
    return {builder_.CreateSelect(in_range, j, lane), in_range};
  }

  Value* Permute(Value* value, Value* lanes) {
    if (auto* constant = llvm::dyn_cast<llvm::Constant>(lanes)) {
      llvm::SmallVector<int, kLanes> from;
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        from.push_back(
            static_cast<int>(llvm::cast<llvm::ConstantInt>(constant->getAggregateElement(lane))->getZExtValue() & 31));
      }
      return builder_.CreateShuffleVector(value, from);
    }
    if (emitter_.module().options.avx512) {
      // Two registers of 16 lanes are one table of 32 for vpermi2d.
      Value *low = Half(value, 0), *high = Half(value, 1);
      Value* halves[2];
      for (unsigned half = 0; half < 2; ++half) {
        halves[half] =
            builder_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_d_512, {}, {low, Half(lanes, half), high});
      }
      llvm::SmallVector<int, kLanes> all;
      for (unsigned lane = 0; lane < kLanes; ++lane) all.push_back(static_cast<int>(lane));
      return builder_.CreateShuffleVector(halves[0], halves[1], all);
    }
    return builder_.CreateCall(
        emitter_.module().Runtime("tutti_permute_i32", value->getType(), {value->getType(), lanes->getType()}),
        {value, lanes});
  }

 private:
  Value* Number(uint32_t value) { return builder_.CreateVectorSplat(kLanes, builder_.getInt32(value)); }
  Value* Half(Value* vector, unsigned half) {
    llvm::SmallVector<int, kLanes> lanes;
    for (unsigned lane = 0; lane < kLanes / 2; ++lane) lanes.push_back(static_cast<int>(half * kLanes / 2 + lane));
    return builder_.CreateShuffleVector(vector, lanes);
  }

  FunctionEmitter& emitter_;
  llvm::IRBuilder<>& builder_;
};

}  // namespace

llvm::Constant* LaneNumbers(llvm::IRBuilder<>& builder) {
  llvm::SmallVector<uint32_t, kLanes> lanes;
  for (uint32_t lane = 0; lane < kLanes; ++lane) lanes.push_back(lane);
  return llvm::ConstantDataVector::get(builder.getContext(), lanes);
}

void EmitShuffle(FunctionEmitter& emitter, const llvm::CallInst& call, llvm::StringRef suffix) {
  Values& values = emitter.values();
  Shuffle shuffle(emitter);
  const auto source =
      shuffle.Find(suffix.split('.').first, values.Vector(call.getArgOperand(2)), values.Vector(call.getArgOperand(3)));
  llvm::IRBuilder<>& builder = emitter.builder();
  Value* value = values.Vector(call.getArgOperand(1));
  llvm::Type* type = value->getType();
  if (type->getScalarSizeInBits() != 32) return emitter.Unsupported(call, "only 32-bit registers are shuffled");
  value = shuffle.Permute(builder.CreateBitCast(value, Values::Wide(builder.getInt32Ty())), source.lane);
  emitter.Define(call, {builder.CreateBitCast(value, type), source.in_range});
}

}  // namespace tutti::compiler
