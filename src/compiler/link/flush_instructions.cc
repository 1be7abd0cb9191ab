#include "compiler/link/flush_instructions.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/PatternMatch.h>

namespace tutti::compiler {
namespace {

using llvm::Value;

constexpr unsigned kFlushedLanes = 32, kInRegister = 16;  // of a warp, of a register
constexpr uint32_t kSubnormal = 1 << 5;  // of the classes that VFPCLASSPS tells apart

// The x of which `instruction` is the flushed one, or null.
Value* FlushedBy(llvm::Instruction& instruction) {
  namespace m = llvm::PatternMatch;
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(instruction.getType());
  if (type == nullptr || type->getNumElements() != kFlushedLanes || !type->getElementType()->isFloatTy())
    return nullptr;
  llvm::CmpInst::Predicate predicate;
  Value *compared, *x;
  const llvm::APFloat* least;
  if (!m::match(&instruction,
                m::m_Select(m::m_FCmp(predicate, m::m_FAbs(m::m_Value(compared)), m::m_APFloat(least)),
                            m::m_Intrinsic<llvm::Intrinsic::copysign>(m::m_PosZeroFP(), m::m_Deferred(compared)),
                            m::m_Value(x))))
    return nullptr;
  return x == compared && predicate == llvm::CmpInst::FCMP_OLT && least->isSmallestNormalized() ? x : nullptr;
}

Value* FlushHalf(llvm::IRBuilder<>& builder, Value* x, bool has_bf16) {
  if (has_bf16) {
    llvm::Type* brains = llvm::FixedVectorType::get(builder.getBFloatTy(), 2 * kInRegister);
    return builder.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                                   {x, llvm::ConstantFP::get(brains, -0.0), llvm::ConstantFP::get(brains, 0.0)});
  }
  Value* small =
      builder.CreateIntrinsic(llvm::Intrinsic::x86_avx512_fpclass_ps_512, {}, {x, builder.getInt32(kSubnormal)});
  llvm::Type* words = x->getType()->getWithNewType(builder.getInt32Ty());
  Value* bits = builder.CreateBitCast(x, words);
  Value* sign = builder.CreateAnd(bits, llvm::ConstantInt::get(words, 0x80000000));
  return builder.CreateBitCast(builder.CreateSelect(small, sign, bits), x->getType());
}

Value* Flush(llvm::IRBuilder<>& builder, Value* x, bool has_bf16) {
  llvm::SmallVector<int, kFlushedLanes> all;
  for (int lane = 0; lane < static_cast<int>(kFlushedLanes); ++lane) all.push_back(lane);
  const llvm::ArrayRef<int> lanes(all);
  Value* low = FlushHalf(builder, builder.CreateShuffleVector(x, lanes.take_front(kInRegister)), has_bf16);
  Value* high = FlushHalf(builder, builder.CreateShuffleVector(x, lanes.take_back(kInRegister)), has_bf16);
  return builder.CreateShuffleVector(low, high, all);
}

}  // namespace

llvm::PreservedAnalyses FlushInstructionsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    Value* x = FlushedBy(instruction);
    if (x == nullptr) continue;
    llvm::IRBuilder<> builder(&instruction);
    instruction.replaceAllUsesWith(Flush(builder, x, has_bf16));
    instruction.eraseFromParent();
    changed = true;
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace tutti::compiler
