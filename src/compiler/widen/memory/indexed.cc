#include "compiler/widen/memory/indexed.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Operator.h>

#include "compiler/widen/analysis/intrinsics.h"
#include "compiler/widen/emit/function_emitter.h"

namespace tutti::compiler {
namespace {

using llvm::Instruction;
using llvm::Value;

class Finder {
 public:
  explicit Finder(FunctionEmitter& emitter) : emitter_(emitter), builder_(emitter.builder()) {}

  // Adds `value` * 2^scale. False if the sum no longer has the form.
  bool Add(const Value* value, unsigned scale) {
    const Shape& shape = emitter_.shape(value);
    if (shape.is_uniform()) {
      uniform_.push_back({value, scale});
      return emitter_.values().IsAtHand(value);
    }
    const auto* operation = llvm::dyn_cast<Instruction>(value);
    if (operation == nullptr) return false;
    switch (operation->getOpcode()) {
      case Instruction::IntToPtr:
      case Instruction::PtrToInt:
        return operation->getOperand(0)->getType()->getScalarSizeInBits() == 64 && Add(operation->getOperand(0), scale);
      case Instruction::Or:
        if (!llvm::cast<llvm::PossiblyDisjointInst>(operation)->isDisjoint()) return false;
        // Only bases are added: or-ed values are a sum where lanes go, and not where they stay away.
        if (shape.is_runs() && shape.rule() != BaseRule::kLinear) return false;
        [[fallthrough]];
      case Instruction::Add: return Add(operation->getOperand(0), scale) && Add(operation->getOperand(1), scale);
      case Instruction::Shl: {
        const auto* by = llvm::dyn_cast<llvm::ConstantInt>(operation->getOperand(1));
        return by != nullptr && by->getZExtValue() < 16 &&
               Add(operation->getOperand(0), scale + static_cast<unsigned>(by->getZExtValue()));
      }
      case Instruction::ZExt:
      case Instruction::SExt:
        if (index_ != nullptr || operation->getOperand(0)->getType() != builder_.getInt32Ty()) return false;
        index_ = operation;
        index_scale_ = scale;
        return emitter_.values().IsAtHand(operation->getOperand(0));
      default: return false;
    }
  }

  std::optional<IndexedAddress> Finish() {
    if (index_ == nullptr || index_scale_ > 8) return std::nullopt;
    IndexedAddress address;
    address.scale_log2 = index_scale_;
    address.index = emitter_.values().Vector(index_->getOperand(0));
    address.base = builder_.getInt64(0);
    for (const auto& [value, scale] : uniform_) {
      address.base = builder_.CreateAdd(address.base, builder_.CreateShl(emitter_.values().Uniform(value), scale));
    }
    // zext x = sext (x - 2^31) + 2^31.
    const auto* zext = llvm::dyn_cast<llvm::ZExtInst>(index_);
    if (zext != nullptr && !zext->hasNonNeg()) {
      address.index =
          builder_.CreateXor(address.index, builder_.CreateVectorSplat(kLanes, builder_.getInt32(0x80000000)));
      address.base = builder_.CreateAdd(address.base, builder_.getInt64(uint64_t{1} << (31 + index_scale_)));
    }
    return address;
  }

  std::optional<TableAddress> FinishTable() {
    if (index_ == nullptr || index_scale_ > 8) return std::nullopt;
    TableAddress address{.terms = std::move(uniform_), .extension = index_, .scale_log2 = index_scale_};
    for (const auto& [value, scale] : address.terms) {
      if (!IsOfBlock(value)) return std::nullopt;
      if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value))
        address.constant += constant->getZExtValue() << scale;
    }
    return address;
  }

 private:
  // Computed of parameters and of what is fixed for the block.
  static bool IsOfBlock(const Value* value, unsigned depth = 4) {
    if (llvm::isa<llvm::Constant>(value)) return true;
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(value))
      return ClassifyCall(*call).kind == Intrinsic::kBlockField;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(value))
      return load->getPointerAddressSpace() == 101 && llvm::isa<llvm::Constant>(load->getPointerOperand());
    const auto* operation = llvm::dyn_cast<Instruction>(value);
    return depth != 0 && llvm::isa_and_nonnull<llvm::BinaryOperator, llvm::CastInst>(operation) &&
           llvm::all_of(operation->operands(), [&](const llvm::Use& term) { return IsOfBlock(term.get(), depth - 1); });
  }

  FunctionEmitter& emitter_;
  llvm::IRBuilder<>& builder_;
  llvm::SmallVector<std::pair<const Value*, unsigned>, 4> uniform_;
  const Instruction* index_ = nullptr;
  unsigned index_scale_ = 0;
};

}  // namespace

std::optional<IndexedAddress> FindIndexedAddress(FunctionEmitter& emitter, const Value* pointer) {
  Finder finder(emitter);
  if (!finder.Add(pointer, 0)) return std::nullopt;
  return finder.Finish();
}

std::optional<TableAddress> FindTableAddress(FunctionEmitter& emitter, const Value* pointer) {
  Finder finder(emitter);
  if (!finder.Add(pointer, 0)) return std::nullopt;
  return finder.FinishTable();
}

std::optional<IndexedAddress> FindConstantDistances(FunctionEmitter& emitter, const Value* pointer) {
  const Shape& shape = emitter.shape(pointer);
  if (!shape.is_runs() || shape.run() != kLanes || !shape.wraps().empty()) return std::nullopt;
  llvm::SmallVector<uint32_t, kLanes> distances;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const int64_t distance = Difference(shape.offset(lane), shape.offset(0));
    if (distance != static_cast<int32_t>(distance)) return std::nullopt;
    distances.push_back(static_cast<uint32_t>(distance));
  }
  return IndexedAddress{.base = emitter.values().InRun(pointer),
                        .index = llvm::ConstantDataVector::get(emitter.builder().getContext(), distances)};
}

// With d = base - start, the address is inside if 0 <= d + scale * index < limit: the index is between ceil(-d / scale)
// and floor((limit - 1 - d) / scale). d is any 64-bit number: if it is so large that the sum might wrap, nothing is
// inside.
Value* IsOutside(llvm::IRBuilder<>& builder, const IndexedAddress& address, Value* start, Value* limit,
                 unsigned align_log2) {
  const auto number = [&](int64_t value) { return llvm::ConstantInt::getSigned(builder.getInt64Ty(), value); };
  constexpr int64_t kFar = int64_t{1} << 61;
  Value* d = builder.CreateSub(address.base, start);
  Value* low = builder.CreateNeg(builder.CreateAShr(d, address.scale_log2));
  Value* high = builder.CreateAShr(builder.CreateSub(builder.CreateSub(limit, number(1)), d), address.scale_log2);
  Value* near = builder.CreateICmpULT(builder.CreateAdd(d, number(kFar)), number(2 * kFar));
  near = builder.CreateAnd(near, builder.CreateICmpULT(builder.CreateSub(limit, number(1)), number(kFar)));
  const uint64_t odd = (uint64_t{1} << align_log2) - 1;
  if (odd != 0 && address.scale_log2 >= align_log2)
    near = builder.CreateAnd(near, builder.CreateICmpEQ(builder.CreateAnd(address.base, odd), number(0)));
  low = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, low, number(INT32_MIN));
  high = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, high, number(INT32_MAX));
  // One comparison instead of two. If all 2^32 indices are inside, one of them takes the slow path.
  near = builder.CreateAnd(near, builder.CreateICmpSLE(low, high));
  Value* count = builder.CreateBinaryIntrinsic(
      llvm::Intrinsic::umin, builder.CreateAdd(builder.CreateSub(high, low), number(1)), number(UINT32_MAX));
  count = builder.CreateSelect(near, count, number(0));
  const auto splat = [&](Value* value) {
    return builder.CreateVectorSplat(kLanes, builder.CreateTrunc(value, builder.getInt32Ty()));
  };
  Value* outside = builder.CreateICmpUGE(builder.CreateSub(address.index, splat(low)), splat(count));
  if (odd == 0 || address.scale_log2 >= align_log2) return outside;
  // The scale is below the alignment, so the index has a part in the low bits.
  Value* bits = builder.CreateAdd(splat(address.base), builder.CreateShl(address.index, address.scale_log2));
  bits = builder.CreateAnd(bits, builder.CreateVectorSplat(kLanes, builder.getInt32(static_cast<uint32_t>(odd))));
  return builder.CreateOr(outside, builder.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType())));
}

}  // namespace tutti::compiler
