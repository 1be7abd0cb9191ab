#include "compiler/widen/fence.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/KnownBits.h>

#include <algorithm>

#include "compiler/widen/function_emitter.h"
#include "guest/kernel_abi.h"

namespace tutti::compiler {
namespace {

using guest::BlockState;
using guest::WarpState;
namespace runtime = guest_runtime;

// The alloca that `pointer` is computed from, and whether [pointer, pointer + bytes) is known to be inside it, and aligned.
const llvm::AllocaInst* FindAlloca(const llvm::Value* pointer, const llvm::DataLayout& layout, uint64_t bytes, unsigned align_log2, bool& inside) {
  llvm::APInt offset(64, 0);
  const llvm::Value* base = pointer->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
  if (const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(base)) {
    const uint64_t size = alloca->getAllocationSize(layout)->getFixedValue();
    inside = offset.ule(size) && bytes <= size - offset.getZExtValue() && offset.countr_zero() >= align_log2 && llvm::Log2(alloca->getAlign()) >= align_log2;
    return alloca;
  }
  inside = false;
  for (unsigned depth = 0; depth < 8; ++depth) {
    if (const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(base)) {
      base = gep->getPointerOperand();
    } else {
      break;
    }
  }
  return llvm::dyn_cast<llvm::AllocaInst>(base);
}

// All memories start at multiples of 16, which is what wider accesses are held to as well.
constexpr unsigned kMostAlignLog2 = 4;

unsigned AlignLog2(const llvm::Instruction& instruction) {
  llvm::Align align;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) align = load->getAlign();
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) align = store->getAlign();
  if (const auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) align = atomic->getAlign();
  if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) align = exchange->getAlign();
  return std::min(llvm::Log2(align), kMostAlignLog2);
}

// What is known of a shared offset's bits proves it: thread indices are below the block's extents.
bool IsInShared(FunctionEmitter& emitter, const llvm::Value* pointer, uint64_t bytes, unsigned align_log2) {
  const auto* cast = llvm::dyn_cast<llvm::Operator>(pointer);
  if (cast == nullptr || cast->getOpcode() != llvm::Instruction::IntToPtr) return false;
  const llvm::KnownBits known = llvm::computeKnownBits(cast->getOperand(0), emitter.module().module.getDataLayout());
  const uint64_t greatest = known.getMaxValue().getLimitedValue(), size = emitter.module().static_shared_bytes;
  return bytes <= size && greatest <= size - bytes && known.countMinTrailingZeros() >= align_log2;
}

}  // namespace

Region RegionOf(FunctionEmitter& emitter, const llvm::Instruction& instruction, const llvm::Value* pointer, uint64_t bytes) {
  Region region;
  const unsigned align_log2 = AlignLog2(instruction);
  switch (pointer->getType()->getPointerAddressSpace()) {
    case 0: {
      bool inside = false;
      const llvm::DataLayout& layout = emitter.module().module.getDataLayout();
      if (FindAlloca(pointer, layout, bytes, align_log2, inside) != nullptr) {
        region.spaces = region.likely = runtime::kLocal;
        region.is_safe = inside;
      } else {
        region.spaces = runtime::kWindow | runtime::kShared | runtime::kLocal | runtime::kParams;
      }
      break;
    }
    case 3:
      region.spaces = region.likely = runtime::kShared;
      region.base = emitter.abi().shared_base();
      region.is_safe = IsInShared(emitter, pointer, bytes, align_log2);
      break;
    case 5:
      region.spaces = region.likely = runtime::kLocal;
      break;
    case 101: {
      region.spaces = region.likely = runtime::kParams;
      region.base = emitter.abi().params_base();
      llvm::APInt offset(64, 0);
      const llvm::Value* base = pointer->stripAndAccumulateConstantOffsets(emitter.module().module.getDataLayout(), offset, true);
      uint64_t at = ~uint64_t{0};
      if (llvm::isa<llvm::ConstantPointerNull>(base)) at = offset.getZExtValue();
      if (const auto* constant = llvm::dyn_cast<llvm::ConstantExpr>(base); constant != nullptr && constant->getOpcode() == llvm::Instruction::IntToPtr) {
        if (const auto* value = llvm::dyn_cast<llvm::ConstantInt>(constant->getOperand(0))) at = value->getZExtValue() + offset.getZExtValue();
      }
      region.is_safe = at <= emitter.module().param_bytes && bytes <= emitter.module().param_bytes - at && at % (uint64_t{1} << align_log2) == 0;
      break;
    }
    default:
      break;
  }
  return region;
}

Fence::Fence(FunctionEmitter& emitter, const Region& region, const llvm::Instruction& instruction)
    : emitter_(emitter), region_(region), instruction_(instruction), align_log2_(AlignLog2(instruction)) {}

bool Fence::is_off() const { return region_.is_safe || !emitter_.module().options.fence; }

Fence::Range Fence::Likely() {
  Abi& abi = emitter_.abi();
  llvm::Type* i64 = emitter_.builder().getInt64Ty();
  llvm::Type* i32 = emitter_.builder().getInt32Ty();
  switch (region_.likely) {
    case runtime::kShared:
      return {abi.shared_base(), abi.Once("shared_bytes", [&](llvm::IRBuilder<>& builder) {
                return builder.CreateZExt(abi.BlockField(offsetof(BlockState, shared_bytes), i32), i64);
              })};
    case runtime::kLocal:
      return {abi.local_base(), abi.Once("local_bytes", [&](llvm::IRBuilder<>& builder) {
                return builder.CreateShl(builder.CreateZExt(abi.WarpField(offsetof(WarpState, local_bytes), i32), i64), 5);
              })};
    case runtime::kParams:
      return {abi.params_base(), llvm::ConstantInt::get(i64, emitter_.module().param_bytes)};
    default:
      return {abi.BlockField(offsetof(BlockState, window_base), i64), abi.BlockField(offsetof(BlockState, window_bytes), i64)};
  }
}

// An access at offset x from the start is inside if x < size - (bytes - 1), and nothing is if the memory is smaller.
llvm::Value* Fence::Limit(uint64_t bytes) {
  llvm::IRBuilder<>& builder = emitter_.builder();
  llvm::Value* size = Likely().size;
  return builder.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, size, llvm::ConstantInt::get(size->getType(), bytes - 1));
}

// The same for the rotated difference: as many aligned places as there are below the limit.
llvm::Value* Fence::RotatedLimit(uint64_t bytes) {
  llvm::IRBuilder<>& builder = emitter_.builder();
  return builder.CreateLShr(builder.CreateAdd(Limit(bytes), builder.getInt64((uint64_t{1} << align_log2_) - 1)), align_log2_);
}

llvm::Value* Fence::Rotated(llvm::Value* difference) {
  if (align_log2_ == 0) return difference;
  llvm::Value* by = llvm::ConstantInt::get(difference->getType(), align_log2_);
  return emitter_.builder().CreateIntrinsic(llvm::Intrinsic::fshr, {difference->getType()}, {difference, difference, by});
}

llvm::Value* Fence::Covers(llvm::Value* address, uint64_t bytes) {
  llvm::IRBuilder<>& builder = emitter_.builder();
  if (is_off()) return builder.getTrue();
  return builder.CreateICmpULT(Rotated(builder.CreateSub(address, Likely().start)), RotatedLimit(bytes));
}

void Fence::RequireScalar(llvm::Value* address, uint64_t bytes) {
  if (is_off()) return;
  llvm::IRBuilder<>& builder = emitter_.builder();
  emitter_.Unless(Covers(address, bytes), [&] {
    ModuleState& module = emitter_.module();
    llvm::Type *i32 = builder.getInt32Ty(), *i64 = builder.getInt64Ty();
    builder.CreateCall(module.Runtime("tutti_check", builder.getVoidTy(), {builder.getPtrTy(), i64, i32, i32, i32, i32, i32}),
                       {emitter_.abi().warp(), address, builder.getInt32(static_cast<uint32_t>(bytes)), emitter_.FirstLane(),
                        emitter_.Location(instruction_), builder.getInt32(region_.spaces | align_log2_ << runtime::kAlignShift), builder.getInt32(static_cast<uint32_t>(module.param_bytes))});
  });
}

void Fence::RequireLanes(llvm::Value* addresses, uint64_t bytes) {
  if (is_off()) return;
  llvm::IRBuilder<>& builder = emitter_.builder();
  llvm::Value* start = builder.CreateVectorSplat(kLanes, Likely().start);
  llvm::Value* limit = builder.CreateVectorSplat(kLanes, RotatedLimit(bytes));
  CheckLanes(builder.CreateICmpUGE(Rotated(builder.CreateSub(addresses, start)), limit), bytes, [&] { return addresses; });
}

void Fence::RequireIndexed(const IndexedAddress& indexed, uint64_t bytes, llvm::function_ref<llvm::Value*()> addresses) {
  if (is_off()) return;
  CheckLanes(IsOutside(emitter_.builder(), indexed, Likely().start, Limit(bytes), align_log2_), bytes, addresses);
}

void Fence::CheckLanes(llvm::Value* outside, uint64_t bytes, llvm::function_ref<llvm::Value*()> addresses) {
  llvm::IRBuilder<>& builder = emitter_.builder();
  llvm::Value* bits = emitter_.Bits(emitter_.Masked(outside));
  emitter_.Unless(builder.CreateICmpEQ(bits, builder.getInt32(0)), [&] {
    ModuleState& module = emitter_.module();
    llvm::Type* i32 = builder.getInt32Ty();
    llvm::Value* all = addresses();
    builder.CreateCall(module.Runtime("tutti_check_lanes", builder.getVoidTy(), {builder.getPtrTy(), all->getType(), i32, i32, i32, i32, i32}),
                       {emitter_.abi().warp(), all, bits, builder.getInt32(static_cast<uint32_t>(bytes)), emitter_.Location(instruction_),
                        builder.getInt32(region_.spaces | align_log2_ << runtime::kAlignShift), builder.getInt32(static_cast<uint32_t>(module.param_bytes))});
  });
}

}  // namespace tutti::compiler
