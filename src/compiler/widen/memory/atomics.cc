#include "compiler/widen/memory/atomics.h"

#include <llvm/IR/Constants.h>
#include <llvm/Transforms/Utils/LowerAtomic.h>

#include "compiler/widen/emit/function_emitter.h"
#include "compiler/widen/memory/address_check.h"
#include "compiler/widen/memory/indexed.h"
#include "compiler/widen/warp/reduction.h"

namespace tutti::compiler {
namespace {

using llvm::Value;

// The lanes' addresses, checked, for use one by one: an array of them, or of indices of 32 bits, which takes half of
// the time to make and to check.
class LaneAddresses {
 public:
  LaneAddresses(FunctionEmitter& emitter, const llvm::Instruction& instruction, const Value* pointer, uint64_t bytes)
      : emitter_(emitter) {
    llvm::IRBuilder<>& builder = emitter.builder();
    Region region = RegionOf(emitter, instruction, pointer, bytes);
    OnlyWritable(region);
    AddressCheck check(emitter, region, instruction);
    is_shared_ = region.spaces == (guest_runtime::kShared | guest_runtime::kWrites);
    const auto based = [&](Value* address) {
      return region.base != nullptr ? builder.CreateAdd(address, region.base) : address;
    };
    const auto vector = [&]() -> Value* {
      Value* addresses = emitter.values().Vector(pointer);
      if (region.base == nullptr) return addresses;
      return builder.CreateAdd(addresses, builder.CreateVectorSplat(kLanes, region.base));
    };
    if (emitter.shape(pointer).is_uniform()) {
      base_ = based(emitter.values().Uniform(pointer));
      check.RequireScalar(base_, bytes);
    } else if (auto indexed =
                   emitter.shape(pointer).is_varying() ? FindIndexedAddress(emitter, pointer) : std::nullopt) {
      base_ = indexed->base = based(indexed->base);
      scale_log2_ = indexed->scale_log2;
      check.RequireIndexed(*indexed, bytes, vector);
      Keep(indexed->index);
    } else {
      Value* addresses = vector();
      check.RequireLanes(addresses, bytes);
      Keep(addresses);
    }
  }

  bool is_uniform() const { return array_ == nullptr; }
  bool is_shared() const { return is_shared_; }
  Value* Pointer(Value* lane) {
    llvm::IRBuilder<>& builder = emitter_.builder();
    Value* address = base_;
    if (array_ != nullptr) {
      llvm::Type* element = array_->getAllocatedType()->getArrayElementType();
      address = builder.CreateLoad(element, emitter_.LaneElement(array_, element, lane));
    }
    if (array_ != nullptr && base_ != nullptr)
      address =
          builder.CreateAdd(base_, builder.CreateShl(builder.CreateSExt(address, builder.getInt64Ty()), scale_log2_));
    return builder.CreateIntToPtr(address, builder.getPtrTy());
  }

 private:
  void Keep(Value* lanes) {
    array_ = emitter_.LaneArray(lanes->getType()->getScalarType());
    emitter_.builder().CreateStore(lanes, array_);
  }

  FunctionEmitter& emitter_;
  bool is_shared_ = false;
  Value* base_ = nullptr;  // of all; null: each lane has its own address
  unsigned scale_log2_ = 0;
  llvm::AllocaInst* array_ = nullptr;  // null: all are at the base
};

// A vector that a lane loop reads or writes element by element.
class LaneVector {
 public:
  LaneVector(FunctionEmitter& emitter, llvm::Type* scalar)
      : emitter_(emitter), scalar_(scalar), array_(emitter.LaneArray(scalar)) {}

  void Fill(Value* vector) { emitter_.builder().CreateStore(vector, array_); }
  Value* Read(Value* lane) {
    return emitter_.builder().CreateLoad(scalar_, emitter_.LaneElement(array_, scalar_, lane));
  }
  void Write(Value* lane, Value* value) {
    emitter_.builder().CreateStore(value, emitter_.LaneElement(array_, scalar_, lane));
  }
  Value* Whole() { return emitter_.builder().CreateLoad(Values::Wide(scalar_), array_); }

 private:
  FunctionEmitter& emitter_;
  llvm::Type* scalar_;
  llvm::AllocaInst* array_;
};

Value* EmitOne(FunctionEmitter& emitter, const llvm::AtomicRMWInst& atomic, Value* pointer, Value* value,
               bool is_shared) {
  llvm::IRBuilder<>& builder = emitter.builder();
  if (!is_shared) {
    return builder.CreateAtomicRMW(atomic.getOperation(), pointer, value,
                                   llvm::Align(std::max<uint64_t>(1, value->getType()->getPrimitiveSizeInBits() / 8)),
                                   atomic.getOrdering());
  }
  Value* old = builder.CreateAlignedLoad(value->getType(), pointer, llvm::Align(1));
  builder.CreateAlignedStore(llvm::buildAtomicRMWValue(atomic.getOperation(), builder, old, value), pointer,
                             llvm::Align(1));
  return old;
}

// The operand of all active lanes together. Where they have the same, it is only counted how many there are.
Value* Combined(FunctionEmitter& emitter, const llvm::AtomicRMWInst& atomic) {
  using Op = llvm::AtomicRMWInst::BinOp;
  const Op op = atomic.getOperation();
  const Value* operand = atomic.getValOperand();
  const bool is_same = emitter.shape(operand).is_uniform() && operand->getType()->isIntegerTy();
  if (!is_same || op == Op::Xor) return Reduce(emitter, op, emitter.values().Vector(operand));
  Value* value = emitter.values().Uniform(operand);
  if (op != Op::Add) return value;
  llvm::IRBuilder<>& builder = emitter.builder();
  Value* lanes = builder.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, emitter.mask_bits());
  return builder.CreateMul(builder.CreateZExtOrTrunc(lanes, value->getType()), value);
}

// All lanes at one address, with an associative operation: operands are combined first.
bool EmitCombined(FunctionEmitter& emitter, const llvm::AtomicRMWInst& atomic, LaneAddresses& addresses) {
  using Op = llvm::AtomicRMWInst::BinOp;
  const Op op = atomic.getOperation();
  const bool used = !atomic.use_empty();
  const bool combines = op == Op::Add || op == Op::And || op == Op::Or || op == Op::Min || op == Op::Max ||
                        op == Op::UMin || op == Op::UMax || op == Op::Xor || op == Op::FAdd || op == Op::FMin ||
                        op == Op::FMax;
  if (!combines || (used && op != Op::Add)) return false;
  llvm::IRBuilder<>& builder = emitter.builder();
  if (!used) {
    EmitOne(emitter, atomic, addresses.Pointer(nullptr), Combined(emitter, atomic), addresses.is_shared());
    return true;
  }
  Value* values = emitter.values().Vector(atomic.getValOperand());
  Value* sums =
      PrefixSum(emitter, builder.CreateSelect(emitter.mask(), values, llvm::Constant::getNullValue(values->getType())));
  Value* total = builder.CreateExtractElement(sums, kLanes - 1);
  Value* old = EmitOne(emitter, atomic, addresses.Pointer(nullptr), total, addresses.is_shared());
  emitter.Define(atomic, {builder.CreateAdd(builder.CreateVectorSplat(kLanes, old), builder.CreateSub(sums, values))});
  return true;
}

}  // namespace

void EmitAtomicRmw(FunctionEmitter& emitter, const llvm::AtomicRMWInst& atomic) {
  llvm::Type* scalar = Values::Scalar(atomic.getType());
  const uint64_t bytes = emitter.module().module.getDataLayout().getTypeStoreSize(scalar);
  LaneAddresses addresses(emitter, atomic, atomic.getPointerOperand(), bytes);
  if (addresses.is_uniform() && EmitCombined(emitter, atomic, addresses)) return;
  const Value* operand = atomic.getValOperand();
  Value* shared = emitter.shape(operand).is_uniform() ? emitter.values().Uniform(operand) : nullptr;
  LaneVector operands(emitter, scalar), results(emitter, scalar);
  if (shared == nullptr) operands.Fill(emitter.values().Vector(operand));
  if (!atomic.use_empty()) results.Fill(llvm::Constant::getNullValue(Values::Wide(scalar)));
  const auto one = [&](Value* lane) {
    Value* old = EmitOne(emitter, atomic, addresses.Pointer(lane), shared != nullptr ? shared : operands.Read(lane),
                         addresses.is_shared());
    if (!atomic.use_empty()) results.Write(lane, old);
  };
  const auto active = [&]() -> Value* {
    emitter.ForEachLane(emitter.mask_bits(), one);
    return nullptr;
  };
  const auto all = [&]() -> Value* {
    emitter.ForAllLanes(one);
    return nullptr;
  };
  // To find the next active lane takes as long as to count something in the block's memory.
  if (!addresses.is_shared() || !atomic.use_empty())
    active();
  else if (emitter.is_full())
    all();
  else
    emitter.Choose(emitter.RunsAll(), all, active);
  if (!atomic.use_empty()) emitter.Define(atomic, {results.Whole()});
}

void EmitCompareExchange(FunctionEmitter& emitter, const llvm::AtomicCmpXchgInst& exchange) {
  llvm::IRBuilder<>& builder = emitter.builder();
  llvm::Type* scalar = Values::Scalar(exchange.getCompareOperand()->getType());
  const uint64_t bytes = emitter.module().module.getDataLayout().getTypeStoreSize(scalar);
  LaneAddresses addresses(emitter, exchange, exchange.getPointerOperand(), bytes);
  LaneVector expected(emitter, scalar), desired(emitter, scalar), results(emitter, scalar);
  Value* compare = emitter.values().Vector(exchange.getCompareOperand());
  expected.Fill(compare);
  desired.Fill(emitter.values().Vector(exchange.getNewValOperand()));
  results.Fill(llvm::Constant::getNullValue(Values::Wide(scalar)));
  emitter.ForEachLane(emitter.mask_bits(), [&](Value* lane) {
    Value* pointer = addresses.Pointer(lane);
    Value* old;
    if (addresses.is_shared()) {
      old = builder.CreateAlignedLoad(scalar, pointer, llvm::Align(1));
      Value* wanted = expected.Read(lane);
      builder.CreateAlignedStore(builder.CreateSelect(builder.CreateICmpEQ(old, wanted), desired.Read(lane), old),
                                 pointer, llvm::Align(1));
    } else {
      old = builder.CreateExtractValue(
          builder.CreateAtomicCmpXchg(pointer, expected.Read(lane), desired.Read(lane), llvm::Align(bytes),
                                      exchange.getSuccessOrdering(), exchange.getFailureOrdering()),
          0);
    }
    results.Write(lane, old);
  });
  Value* old = results.Whole();
  emitter.Define(exchange, {old, builder.CreateICmpEQ(old, compare)});
}

}  // namespace tutti::compiler
