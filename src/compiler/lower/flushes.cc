// Whether a value may be subnormal follows from the least magnitude that it may have other than zero, as a power of
// two: "0, infinite, NaN, or at least 2^e". A flush leaves e >= -126. Products add exponents, integers have 0, halves
// -24, a square root half of its operand's. A sum can be as small as the last place of its smaller operand, but not
// less; next to a constant c it is either more than c / 2 or a difference of numbers near c, whose last places are near
// c's. What a loop carries is taken to be flushed until a value that comes in is not.
#include "compiler/lower/flushes.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>

namespace tutti::compiler::lowering {
namespace {

using llvm::Value;

constexpr const char* kMark = "tutti.fn.flush.f32";
constexpr int kLeastNormal = -126, kLeast = -149, kMost = 127;
constexpr int kFraction = 23;
constexpr unsigned kDeepest = 12;  // operations from a mark to what is known
constexpr unsigned kMostTurns = 8;  // over the phis of a function

const llvm::CallInst* AsMark(const Value* value) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(value);
  if (call == nullptr || call->getCalledFunction() == nullptr) return nullptr;
  return call->getCalledFunction()->getName() == kMark ? call : nullptr;
}

llvm::Constant* Flushed(llvm::ConstantFP* constant) {
  if (!constant->getValueAPF().isDenormal()) return constant;
  return llvm::ConstantFP::getZero(constant->getType(), constant->isNegative());
}

// The exponent of a constant; kMost for what is no finite number, or zero.
int ExponentOf(const llvm::ConstantFP& constant) {
  const llvm::APFloat& value = constant.getValueAPF();
  return value.isFiniteNonZero() ? ilogb(value) : kMost;
}

class LeastExponents {
 public:
  explicit LeastExponents(llvm::Function& function) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction);
      if (phi != nullptr && phi->getType()->isFloatTy()) phis_[phi] = kLeastNormal;
    }
    for (unsigned turn = 0; Correct(); ++turn) {
      if (turn < kMostTurns) continue;
      for (auto& [phi, exponent] : phis_) exponent = kLeast;
      known_.clear();
      return;
    }
  }

  bool MayBeSubnormal(const Value* value) { return Of(value) < kLeastNormal; }

 private:
  // Phis into which something smaller comes; true if there were some.
  bool Correct() {
    bool changed = false;
    known_.clear();
    for (auto& [phi, exponent] : phis_) {
      if (exponent == kLeast) continue;
      for (const Value* incoming : phi->incoming_values()) {
        if (!MayBeSubnormal(incoming)) continue;
        exponent = kLeast;
        changed = true;
        break;
      }
    }
    return changed;
  }

  int Of(const Value* value, unsigned depth = 0) {
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(value)) return ExponentOf(*constant);
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(value)) {
      const auto found = phis_.find(phi);
      return found == phis_.end() ? kLeast : found->second;
    }
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (instruction == nullptr || depth == kDeepest) return kLeast;
    const auto [place, is_new] = known_.try_emplace(value, kLeast);
    if (!is_new) return place->second;
    const int exponent = std::clamp(Result(*instruction, depth + 1), kLeast, kMost);
    known_[value] = exponent;
    return exponent;
  }

  int Result(const llvm::Instruction& instruction, unsigned depth) {
    const auto of = [&](unsigned operand) { return Of(instruction.getOperand(operand), depth); };
    switch (instruction.getOpcode()) {
      case llvm::Instruction::SIToFP:
      case llvm::Instruction::UIToFP: return 0;
      case llvm::Instruction::FPExt: return instruction.getOperand(0)->getType()->isHalfTy() ? -24 : kLeast;
      case llvm::Instruction::FNeg: return of(0);
      case llvm::Instruction::FMul: return of(0) + of(1);
      case llvm::Instruction::FAdd:
      case llvm::Instruction::FSub: return Sum(instruction.getOperand(0), instruction.getOperand(1), depth);
      case llvm::Instruction::FDiv: return Quotient(instruction, depth);
      case llvm::Instruction::Select: return Choice(llvm::cast<llvm::SelectInst>(instruction), depth);
      case llvm::Instruction::Call: return Call(llvm::cast<llvm::CallInst>(instruction), depth);
      default: return kLeast;
    }
  }

  // Of the last place.
  static int Place(int exponent) { return std::max(exponent - kFraction, kLeast); }

  // Beside c: 2^-24 c at least, see the beginning.
  static int Beside(const Value* value, int places) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(value);
    if (constant == nullptr || !constant->getValueAPF().isFiniteNonZero()) return kLeast;
    return ExponentOf(*constant) - places;
  }

  int Sum(const Value* a, const Value* b, unsigned depth) {
    const int place = std::min(Place(Of(a, depth)), Place(Of(b, depth)));
    return std::max({place, Beside(a, kFraction + 1), Beside(b, kFraction + 1)});
  }

  // a * b has twice the places.
  int Fused(const llvm::CallInst& fma, unsigned depth) {
    const Value* c = fma.getArgOperand(2);
    const int product = Of(fma.getArgOperand(0), depth) + Of(fma.getArgOperand(1), depth) - 2 * kFraction;
    return std::max(std::min(product, Place(Of(c, depth))), Beside(c, 2 * kFraction + 2));
  }

  // Numbers are less than 2^128, square roots less than 2^64.
  int Quotient(const llvm::Instruction& division, unsigned depth) {
    const auto* root = llvm::dyn_cast<llvm::IntrinsicInst>(division.getOperand(1));
    const bool is_root = root != nullptr && root->getIntrinsicID() == llvm::Intrinsic::sqrt;
    return Of(division.getOperand(0), depth) - (is_root ? 64 : 128);
  }

  // One of two values, or, as FloatMinMax() writes it, of two zeros the bits that both or either has.
  int Choice(const llvm::SelectInst& select, unsigned depth) {
    const int otherwise = Of(select.getFalseValue(), depth);
    const auto* compare = llvm::dyn_cast<llvm::FCmpInst>(select.getCondition());
    const auto* cast = llvm::dyn_cast<llvm::BitCastInst>(select.getTrueValue());
    const auto* merge = cast == nullptr ? nullptr : llvm::dyn_cast<llvm::BinaryOperator>(cast->getOperand(0));
    if (compare == nullptr || merge == nullptr || compare->getPredicate() != llvm::CmpInst::FCMP_OEQ)
      return std::min(otherwise, Of(select.getTrueValue(), depth));
    const auto is_of = [&](const Value* bits) {
      const auto* of = llvm::dyn_cast<llvm::BitCastInst>(bits);
      return of != nullptr &&
             (of->getOperand(0) == compare->getOperand(0) || of->getOperand(0) == compare->getOperand(1));
    };
    const bool either = merge->getOpcode() == llvm::Instruction::And || merge->getOpcode() == llvm::Instruction::Or;
    if (!either || !is_of(merge->getOperand(0)) || !is_of(merge->getOperand(1))) return kLeast;
    return std::min({otherwise, Of(compare->getOperand(0), depth), Of(compare->getOperand(1), depth)});
  }

  int Call(const llvm::CallInst& call, unsigned depth) {
    const auto of = [&](unsigned argument) { return Of(call.getArgOperand(argument), depth); };
    switch (call.getIntrinsicID()) {
      case llvm::Intrinsic::fabs:
      case llvm::Intrinsic::copysign: return of(0);
      case llvm::Intrinsic::fma: return Fused(call, depth);
      case llvm::Intrinsic::sqrt: return (of(0) - 1) / 2;
      case llvm::Intrinsic::floor:
      case llvm::Intrinsic::ceil:
      case llvm::Intrinsic::trunc:
      case llvm::Intrinsic::roundeven: return 0;
      default: break;
    }
    if (AsMark(&call) != nullptr) return std::max(kLeastNormal, of(0));
    const llvm::StringRef name = call.getCalledFunction() == nullptr ? "" : call.getCalledFunction()->getName();
    // What these make of normal numbers is zero or normal (guest_runtime_test.cc).
    if (name == "tutti.fn.lg2.f32" || name == "tutti.fn.cos.f32") return kLeastNormal;
    if (name == "tutti.fn.sin.f32" || name == "tutti.fn.tanh.f32") return std::min(of(0), kLeastNormal);
    return kLeast;
  }

  llvm::MapVector<const llvm::PHINode*, int> phis_;
  llvm::DenseMap<const Value*, int> known_;
};

// A comparison with a normal number has the same outcome for a subnormal one and for zero.
bool IsComparedOnly(const llvm::CallInst& mark, const llvm::User* user) {
  const auto* compare = llvm::dyn_cast<llvm::FCmpInst>(user);
  if (compare == nullptr) return false;
  const Value* other = compare->getOperand(compare->getOperand(0) == &mark ? 1 : 0);
  const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(other);
  return constant != nullptr && !constant->isZero() && !constant->getValueAPF().isDenormal();
}

// In terms of floats, which the optimisations that follow leave as it is, and which the code generator knows how to
// make short (link/flush_instructions.h).
Value* Flush(llvm::IRBuilder<>& ir, Value* x) {
  llvm::Type* type = x->getType();
  Value* magnitude = ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  Value* small = ir.CreateFCmpOLT(magnitude, llvm::ConstantFP::get(type, 0x1p-126));
  Value* zero = ir.CreateIntrinsic(llvm::Intrinsic::copysign, {type}, {llvm::ConstantFP::get(type, 0.0), x});
  return ir.CreateSelect(small, zero, x);
}

bool Settle(llvm::Function& function, FlushesPass::Time time) {
  llvm::SmallVector<llvm::CallInst*, 32> marks;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (AsMark(&instruction) != nullptr) marks.push_back(llvm::cast<llvm::CallInst>(&instruction));
  }
  if (marks.empty()) return false;
  LeastExponents exponents(function);
  llvm::SmallVector<bool, 32> needed;  // all, before any is replaced
  for (const llvm::CallInst* mark : marks) needed.push_back(exponents.MayBeSubnormal(mark->getArgOperand(0)));
  for (size_t i = 0; i < marks.size(); ++i) {
    llvm::CallInst* mark = marks[i];
    Value* x = mark->getArgOperand(0);
    if (needed[i]) {
      mark->replaceUsesWithIf(x, [&](const llvm::Use& use) { return IsComparedOnly(*mark, use.getUser()); });
      auto* constant = llvm::dyn_cast<llvm::ConstantFP>(x);
      if (constant != nullptr) {
        x = Flushed(constant);
      } else if (time != FlushesPass::Time::kLast) {
        continue;
      } else if (!mark->use_empty()) {
        llvm::IRBuilder<> ir(mark);
        x = Flush(ir, x);
      }
    }
    mark->replaceAllUsesWith(x);
    mark->eraseFromParent();
  }
  return true;
}

}  // namespace

llvm::Value* MarkFlush(llvm::IRBuilder<>& ir, llvm::Value* x) {
  if (auto* constant = llvm::dyn_cast<llvm::ConstantFP>(x)) return Flushed(constant);
  llvm::Module& module = *ir.GetInsertBlock()->getModule();
  llvm::Function* function = module.getFunction(kMark);
  if (function == nullptr) {
    function = llvm::Function::Create(llvm::FunctionType::get(x->getType(), {x->getType()}, false),
                                      llvm::Function::ExternalLinkage, kMark, module);
    for (const auto attribute : {llvm::Attribute::NoUnwind, llvm::Attribute::WillReturn, llvm::Attribute::Speculatable})
      function->addFnAttr(attribute);
    function->setMemoryEffects(llvm::MemoryEffects::none());
  }
  return ir.CreateCall(function, {x});
}

llvm::PreservedAnalyses FlushesPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  if (!Settle(function, time)) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

void SettleFlushes(llvm::Module& module) {
  for (llvm::Function& function : module) Settle(function, FlushesPass::Time::kLast);
}

}  // namespace tutti::compiler::lowering
