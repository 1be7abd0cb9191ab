// Shapes are an abstract interpretation of the scalar code. "Lane l has base[l / run] + offset[l]" is an affine form
// with constant offsets, and each operation is asked whether it maps that form to itself. The rules are tried from the
// cheapest result to the dearest:
//
// * all operands uniform: the result is (UniformResult);
// * all operands known per lane: fold the operation 32 times, the base is zero (Fold);
// * linear operations: they act on bases and offsets apart (Linear, Sum);
// * anything else on operands that are constant within runs: one scalar operation per run (ByRun);
// * else the result varies and becomes a vector.
//
// Bits are the hard part: `&`, `|`, `>>`, `/ 2^k` and zero extension are no linear operations, yet index arithmetic is
// full of them. They keep the form if no carry crosses from the offset into the base, so each shape also carries an
// alignment: the base is a multiple of 2^a and all offsets are in [0, 2^a) (IsBelowAlign). Then base and offset occupy
// different bits. That is why the alignment of uniform values is tracked, too.
//
// Extension to 64 bits without that proof would lose every `p[i]` with a 32-bit `i`. There the form is kept under an
// assumption (WrapTerm) that the accesses check at run time.
//
// Runs shorter than a warp cost one scalar operation per run and operation, hence IsWorthRuns: 16 lanes always, 8 only
// for integers and pointers, where they save a gather; fewer never.
#include "compiler/widen/analysis/shape_rules.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include <algorithm>

#include "compiler/widen/analysis/lane_range.h"

namespace tutti::compiler {
namespace {

using llvm::Instruction;

constexpr unsigned kMostAlignment = 62;

// Runs below 32 lanes cost an operation per run; runs of 8 pay off for addresses only.
bool IsWorthRuns(unsigned run, const llvm::Type* type) {
  if (run >= 16) return true;
  return run == 8 && IntegerBits(type) != 0;
}

const llvm::ConstantInt* SmallConstant(const llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
  return constant != nullptr && constant->getBitWidth() <= 64 ? constant : nullptr;
}

// Applies the rules to one instruction, given its operands' shapes.
class Rule {
 public:
  Rule(const Instruction& instruction, const llvm::DataLayout& layout, ShapeLookup shape_of)
      : instruction_(instruction), layout_(layout), shape_of_(shape_of), bits_(IntegerBits(instruction.getType())) {}

  Shape Apply() {
    bool uniform = true;
    for (const llvm::Value* operand : operands()) {
      const Shape& shape = shape_of_(operand);
      if (shape.is_unknown()) return {};
      uniform &= shape.is_uniform();
    }
    if (uniform) return UniformResult();
    if (Shape folded = Fold(); folded.is_runs()) return folded;
    if (Shape linear = Linear(); linear.is_runs()) return linear;
    return ByRun();
  }

 private:
  llvm::iterator_range<Instruction::const_op_iterator> operands() const {
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction_)) return call->args();
    return instruction_.operands();
  }
  const Shape& Of(unsigned operand) const { return shape_of_(instruction_.getOperand(operand)); }

  // Tracked because it proves that adding a thread index does not carry.
  Shape UniformResult() {
    Shape shape = Shape::Uniform(BaseRule::kValue);
    if (bits_ == 0 || bits_ > 64) return shape;
    shape.set_align(UniformAlign());
    return shape;
  }

  unsigned UniformAlign() const {
    const auto capped = [](unsigned align) { return std::min(align, kMostAlignment); };
    switch (instruction_.getOpcode()) {
      case Instruction::Add:
      case Instruction::Sub:
      case Instruction::Or:
      case Instruction::Xor: return capped(std::min(Of(0).align(), Of(1).align()));
      case Instruction::And: return capped(std::max(Of(0).align(), Of(1).align()));
      case Instruction::Mul: return capped(capped(Of(0).align()) + capped(Of(1).align()));
      case Instruction::Shl:
        if (const auto* by = SmallConstant(instruction_.getOperand(1)))
          return capped(Of(0).align() + static_cast<unsigned>(by->getZExtValue()));
        return capped(Of(0).align());
      case Instruction::Trunc:
      case Instruction::ZExt:
      case Instruction::SExt:
      case Instruction::PtrToInt:
      case Instruction::IntToPtr:
      case Instruction::Freeze: return capped(Of(0).align());
      case Instruction::Select: return capped(std::min(Of(1).align(), Of(2).align()));
      default: return 0;
    }
  }

  // An or of values without common bits is their sum. Only in lanes that come here; but others' addresses, too, must be
  // at the distances from each other at which they are as sums (address_sum.h).
  static bool IsSum(const Instruction& instruction) {
    const auto* either = llvm::dyn_cast<llvm::PossiblyDisjointInst>(&instruction);
    return either != nullptr && either->isDisjoint();
  }

  // All operands are known per lane.
  Shape Fold() {
    if (bits_ == 0 || bits_ > 64 || instruction_.getType()->isPointerTy() || llvm::isa<llvm::CallInst>(instruction_))
      return {};
    for (const llvm::Value* operand : operands()) {
      if (SmallConstant(operand) != nullptr) continue;
      if (!operand->getType()->isIntegerTy() || !shape_of_(operand).is_constant_lanes()) return {};
    }
    LaneOffsets values{};
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      llvm::SmallVector<llvm::Constant*, 3> constants;
      for (llvm::Value* operand : operands()) {
        auto* constant = llvm::dyn_cast<llvm::ConstantInt>(operand);
        if (constant == nullptr)
          constant = llvm::ConstantInt::getSigned(llvm::cast<llvm::IntegerType>(operand->getType()),
                                                  shape_of_(operand).offset(lane));
        constants.push_back(constant);
      }
      llvm::Constant* result;
      if (IsSum(instruction_)) {
        result = llvm::ConstantExpr::getAdd(constants[0], constants[1]);
      } else if (const auto* compare = llvm::dyn_cast<llvm::CmpInst>(&instruction_)) {
        result = llvm::ConstantFoldCompareInstOperands(compare->getPredicate(), constants[0], constants[1], layout_);
      } else {
        result = llvm::ConstantFoldInstOperands(const_cast<Instruction*>(&instruction_), constants, layout_);
      }
      const auto* value = llvm::dyn_cast_or_null<llvm::ConstantInt>(result);
      if (value == nullptr) return {};
      values[lane] = value->getSExtValue();
    }
    Shape shape = Shape::Uniform(BaseRule::kFolded);
    shape.set_offsets(values, bits_);
    shape.set_align(Shape::kZeroBase);
    return shape;
  }

  Shape Linear() {
    if (bits_ == 0 || bits_ > 64) return {};
    switch (instruction_.getOpcode()) {
      case Instruction::Add: return SumOfOperands(1);
      case Instruction::Sub: return SumOfOperands(-1);
      case Instruction::Mul:
        if (const auto* factor = SmallConstant(instruction_.getOperand(1)))
          return Sum({{&Of(0), factor->getSExtValue()}});
        return {};
      case Instruction::Shl:
        if (const auto* by = SmallConstant(instruction_.getOperand(1)); by != nullptr && by->getZExtValue() < bits_) {
          return Sum({{&Of(0), static_cast<int64_t>(uint64_t{1} << by->getZExtValue())}});
        }
        return {};
      case Instruction::GetElementPtr: return Address(llvm::cast<llvm::GEPOperator>(instruction_));
      case Instruction::PtrToInt:
      case Instruction::IntToPtr:
      case Instruction::AddrSpaceCast:
      case Instruction::Freeze: return Sum({{&Of(0), 1}});
      case Instruction::Trunc: {
        Shape shape = Sum({{&Of(0), 1}});
        if (bits_ <= 32) shape.ClearWraps();  // their errors are multiples of 2^32, see Extended()
        return shape;
      }
      case Instruction::ZExt:
      case Instruction::SExt: return Extended(Of(0));
      case Instruction::Or:
        if (IsSum(instruction_)) return SumOfOperands(1);
        if (Shape merged = DisjointOr(); merged.is_runs()) return merged;
        return WithConstant();
      case Instruction::And:
      case Instruction::Xor:
      case Instruction::LShr:
      case Instruction::AShr:
      case Instruction::UDiv:
      case Instruction::URem: return WithConstant();
      case Instruction::Select: return Selected();
      default: return {};
    }
  }

  struct Term {
    const Shape* shape;
    int64_t factor;
  };

  Shape SumOfOperands(int64_t second_factor) {
    llvm::SmallVector<Term, 2> terms;
    int64_t constant = 0;
    for (unsigned i = 0; i < 2; ++i) {
      const int64_t factor = i == 0 ? 1 : second_factor;
      if (BelongsToOffsets(instruction_, instruction_.getOperand(i))) {
        constant += factor * SmallConstant(instruction_.getOperand(i))->getSExtValue();
      } else {
        terms.push_back({&Of(i), factor});
      }
    }
    return Sum(terms, constant);
  }

  Shape Sum(std::initializer_list<Term> terms) { return Sum(llvm::ArrayRef<Term>(terms), 0); }
  Shape Sum(llvm::ArrayRef<Term> terms, int64_t constant) {
    unsigned run = kLanes, align = Shape::kZeroBase;
    LaneOffsets offsets;
    offsets.fill(constant);
    Shape shape = Shape::Runs(kLanes, BaseRule::kLinear);
    for (const Term& term : terms) {
      if (!term.shape->is_runs() || !shape.AddWraps(*term.shape, term.factor)) return {};
      run = std::min(run, term.shape->run());
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        offsets[lane] +=
            static_cast<int64_t>(static_cast<uint64_t>(term.shape->offset(lane)) * static_cast<uint64_t>(term.factor));
      }
      unsigned own = term.shape->align();
      if (own != Shape::kZeroBase) {
        own = std::min(
            kMostAlignment,
            own +
                (term.factor == 0 ? 0u : static_cast<unsigned>(llvm::countr_zero(static_cast<uint64_t>(term.factor)))));
      }
      align = std::min(align, own);
    }
    if (!IsWorthRuns(run, instruction_.getType())) return {};
    shape.set_run(run);
    shape.set_offsets(offsets, bits_);
    // The offsets cancel each other out, but what a wrapped index has too much or too little does not: an access would
    // take all lanes to be at one address, which its check alone looks at.
    if (!shape.has_offsets() && !shape.wraps().empty()) return {};
    shape.set_align(align);
    if (shape.is_constant_lanes()) shape.set_rule(BaseRule::kFolded);
    return shape;
  }

  Shape Address(const llvm::GEPOperator& gep) {
    llvm::MapVector<llvm::Value*, llvm::APInt> variable;
    llvm::APInt constant(64, 0);
    if (!gep.collectOffset(layout_, 64, variable, constant)) return {};
    llvm::SmallVector<Term, 4> terms{{&shape_of_(gep.getPointerOperand()), 1}};
    for (const auto& [index, scale] : variable) {
      if (IntegerBits(index->getType()) != 64) return {};
      terms.push_back({&shape_of_(index), scale.getSExtValue()});
    }
    return Sum(terms, constant.getSExtValue());
  }

  static bool IsBelowAlign(const Shape& shape) {
    if (!shape.is_runs() || shape.is_constant_lanes() || !shape.wraps().empty()) return false;
    const int64_t limit = int64_t{1} << std::min(shape.align(), kMostAlignment);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (shape.offset(lane) < 0 || shape.offset(lane) >= limit) return false;
    }
    return true;
  }

  // Whether each lane that comes here has its run's base, extended, plus its offset. A base is what the first lane of
  // the run has without its offset, whether or not it comes here. Offsets are below a quarter of all 2^32 values, so a
  // value and a base are as far apart as without wrapping if both are in the lower half, or signed and no lower than a
  // quarter below it. All in 64 bits: a range of all values must not wrap itself.
  bool CannotWrap(const Shape& narrow) const {
    constexpr int64_t kHalf = int64_t{1} << 31, kQuarter = int64_t{1} << 30;
    const auto* zext = llvm::dyn_cast<llvm::ZExtInst>(&instruction_);
    const bool is_never_negative = zext != nullptr && zext->hasNonNeg();  // by the lanes that come here
    const llvm::ConstantRange range = RangeInAnyLane(instruction_.getOperand(0));
    const bool is_unsigned = zext != nullptr && !is_never_negative;
    const int64_t least =
        is_unsigned ? static_cast<int64_t>(range.getUnsignedMin().getZExtValue()) : range.getSignedMin().getSExtValue();
    const int64_t most =
        is_unsigned ? static_cast<int64_t>(range.getUnsignedMax().getZExtValue()) : range.getSignedMax().getSExtValue();
    int64_t low = narrow.offset(0), high = low;  // of the first lanes' offsets
    for (unsigned lane = narrow.run(); lane < kLanes; lane += narrow.run()) {
      low = std::min(low, narrow.offset(lane));
      high = std::max(high, narrow.offset(lane));
    }
    const int64_t floor = zext != nullptr ? 0 : -kQuarter;
    return (is_never_negative || (least >= floor && most < kHalf)) && least - high >= floor && most - low < kHalf;
  }

  // Extending base + offset gives the extended base plus the offset unless a lane wraps. A base that is a multiple of
  // 2^a, with offsets in [0, 2^a), cannot.
  Shape Extended(const Shape& narrow) {
    if (!narrow.is_runs() || !narrow.wraps().empty()) return {};
    Shape shape = narrow;
    shape.set_rule(BaseRule::kLinear);
    if (!narrow.has_offsets() || IsBelowAlign(narrow)) return shape;
    int64_t low = 0, high = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      low = std::min(low, narrow.offset(lane));
      high = std::max(high, narrow.offset(lane));
    }
    const unsigned narrow_bits = IntegerBits(instruction_.getOperand(0)->getType());
    if (narrow_bits != 32 || bits_ != 64 || high - low >= int64_t{1} << 30) return {};
    if (!CannotWrap(narrow)) shape.AddWrap(&instruction_);
    return shape;
  }

  // A multiple of 2^a or-ed with values below 2^a: no bit is in both.
  Shape DisjointOr() {
    const Shape &a = Of(0), &b = Of(1);
    if (!a.is_runs() || !b.is_runs() || a.is_constant_lanes() == b.is_constant_lanes()) return {};
    const Shape& base = a.is_constant_lanes() ? b : a;
    const Shape& lanes = a.is_constant_lanes() ? a : b;
    if (!IsBelowAlign(base)) return {};
    Shape shape = base;
    shape.set_rule(BaseRule::kLinear);
    LaneOffsets offsets{};
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      offsets[lane] = base.offset(lane) | lanes.offset(lane);
      if (lanes.offset(lane) < 0 || lanes.offset(lane) >= int64_t{1} << std::min(base.align(), kMostAlignment))
        return {};
    }
    shape.set_offsets(offsets, bits_);
    return shape;
  }

  // Bitwise operations with a constant, where no carry crosses between base and offset.
  Shape WithConstant() {
    const Shape& value = Of(0);
    const auto* constant = SmallConstant(instruction_.getOperand(1));
    if (constant == nullptr || !value.is_runs() || !IsBelowAlign(value)) return {};
    const uint64_t k = constant->getZExtValue();
    const unsigned align = value.align();
    const uint64_t low_mask = (uint64_t{1} << align) - 1;
    Shape shape = value;
    LaneOffsets offsets{};
    const auto map = [&](auto operation) {
      for (unsigned lane = 0; lane < kLanes; ++lane)
        offsets[lane] = static_cast<int64_t>(operation(static_cast<uint64_t>(value.offset(lane))));
    };
    unsigned shift = 0;
    switch (instruction_.getOpcode()) {
      case Instruction::And:
        map([&](uint64_t x) { return x & k; });
        shape.set_rule(BaseRule::kMasked);
        if (k <= low_mask) shape.set_align(Shape::kZeroBase);
        break;
      case Instruction::Or:
        map([&](uint64_t x) { return x | (k & low_mask); });
        shape.set_rule(BaseRule::kMasked);
        break;
      case Instruction::Xor:
        map([&](uint64_t x) { return x ^ (k & low_mask); });
        shape.set_rule(BaseRule::kMasked);
        break;
      case Instruction::URem:
        if (!llvm::isPowerOf2_64(k)) return {};
        map([&](uint64_t x) { return x & (k - 1); });
        shape.set_rule(BaseRule::kLinear);
        if (k - 1 <= low_mask) shape.set_align(Shape::kZeroBase);
        break;
      case Instruction::UDiv:
        if (!llvm::isPowerOf2_64(k)) return {};
        shift = static_cast<unsigned>(llvm::countr_zero(k));
        break;
      default:
        if (k >= bits_) return {};
        shift = static_cast<unsigned>(k);
        break;
    }
    if (llvm::is_contained({Instruction::UDiv, Instruction::LShr, Instruction::AShr}, instruction_.getOpcode())) {
      map([&](uint64_t x) { return x >> shift; });
      shape.set_rule(BaseRule::kLinear);
      shape.set_align(align > shift ? align - shift : 0);
    }
    shape.set_offsets(offsets, bits_);
    if (shape.is_constant_lanes()) shape.set_rule(BaseRule::kFolded);
    return shape;
  }

  // A uniform choice between two parallel values.
  Shape Selected() {
    if (!Of(0).is_uniform() || !Of(1).is_runs() || !Of(2).is_runs()) return {};
    Shape shape = MeetShapes(Of(1), Of(2), instruction_.getType());
    if (!shape.is_runs()) return {};
    shape.set_rule(BaseRule::kLinear);
    return shape;
  }

  // base + offset compared with a multiple of the bases' alignment: the base alone decides, for all lanes alike.
  bool ComparesAlike() {
    const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction_);
    if (compare == nullptr || !compare->isRelational() || !IsBelowAlign(Of(0))) return false;
    const auto* constant = SmallConstant(compare->getOperand(1));
    if (constant == nullptr || Of(0).run() != kLanes) return false;
    const llvm::CmpInst::Predicate predicate = compare->getPredicate();
    const bool beyond = predicate == llvm::CmpInst::ICMP_UGT || predicate == llvm::CmpInst::ICMP_SGT ||
                        predicate == llvm::CmpInst::ICMP_ULE ||
                        predicate == llvm::CmpInst::ICMP_SLE;  // the border of x > k and x <= k is at k + 1
    const uint64_t border = constant->getZExtValue() + (beyond ? 1 : 0);
    return border % (uint64_t{1} << Of(0).align()) == 0;
  }

  Shape ByRun() {
    if (ComparesAlike()) return Shape::Uniform(BaseRule::kValue);
    unsigned run = kLanes;
    for (const llvm::Value* operand : operands()) run = std::min(run, shape_of_(operand).constant_run());
    if (run == 0 || !IsWorthRuns(run, instruction_.getType())) return Shape::Varying();
    return Shape::Runs(run, BaseRule::kValue);
  }

  const Instruction& instruction_;
  const llvm::DataLayout& layout_;
  ShapeLookup shape_of_;
  unsigned bits_;
};

}  // namespace

Shape ElementwiseShape(const Instruction& instruction, const llvm::DataLayout& layout, ShapeLookup shape_of) {
  return Rule(instruction, layout, shape_of).Apply();
}

Shape LoadShape(const llvm::LoadInst& load, const Shape& address) {
  if (address.is_unknown()) return {};
  const unsigned run = address.constant_run();
  if (run == kLanes) return Shape::Uniform(BaseRule::kSource);
  if (run == 0 || !load.isSimple()) return Shape::Varying();
  return Shape::Runs(run, BaseRule::kSource);
}

Shape MeetShapes(const Shape& current, const Shape& incoming, const llvm::Type* type) {
  if (incoming.is_unknown() || current.is_varying()) return current;
  if (incoming.is_varying()) return incoming;
  if (current.is_unknown()) {
    Shape shape = incoming;
    shape.set_rule(BaseRule::kSource);
    return shape;
  }
  if (current.wraps() != incoming.wraps()) return Shape::Varying();
  const bool integer = IntegerBits(type) != 0 && IntegerBits(type) <= 64;
  for (unsigned run : {32u, 16u, 8u}) {
    if (run > std::min(current.run(), incoming.run()) || !IsWorthRuns(run, type)) continue;
    if (!integer && (current.has_offsets() || incoming.has_offsets())) break;
    if (!current.is_parallel_to(incoming, run)) continue;
    Shape shape = current;
    shape.set_run(run);
    // The difference of the offsets moves to the incoming base.
    unsigned align = std::min(current.align(), incoming.align());
    bool moved = false;
    for (unsigned lane = 0; lane < kLanes; lane += run) {
      const int64_t difference = Difference(incoming.offset(lane), current.offset(lane));
      if (difference == 0) continue;
      moved = true;
      align = std::min(align, static_cast<unsigned>(llvm::countr_zero(static_cast<uint64_t>(difference))));
    }
    if (moved) align = std::min(align, kMostAlignment);
    shape.set_align(align);
    shape.set_rule(BaseRule::kSource);
    return shape;
  }
  return Shape::Varying();
}

bool BelongsToOffsets(const Instruction& instruction, const llvm::Value* operand) {
  const unsigned opcode = instruction.getOpcode();
  return (opcode == Instruction::Add || opcode == Instruction::Sub || opcode == Instruction::Or) &&
         SmallConstant(operand) != nullptr;
}

Shape ConstantShape(const llvm::Constant& constant) {
  Shape shape = Shape::Uniform();
  if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(&constant);
      integer != nullptr && integer->getBitWidth() <= 64) {
    shape.set_align(integer->isZero() ? static_cast<unsigned>(Shape::kZeroBase)
                                      : static_cast<unsigned>(llvm::countr_zero(integer->getZExtValue())));
  }
  return shape;
}

bool IsElementwiseIntrinsic(const llvm::CallInst& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isIntrinsic()) return false;
  if (llvm::isa<llvm::WithOverflowInst>(call)) return true;
  return llvm::isTriviallyVectorizable(callee->getIntrinsicID());
}

}  // namespace tutti::compiler
