#include "compiler/widen/memory/interleaved_locals.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <vector>

#include "compiler/widen/analysis/local_frame.h"
#include "compiler/widen/analysis/shape.h"

namespace tutti::compiler {
namespace {

using llvm::Value;

constexpr uint64_t kMostPieces = 4;  // of an access of several elements

// From the array's first byte: the sum of the terms, and a constant.
struct Offset {
  struct Term {
    Value* index;
    uint64_t scale;
  };
  llvm::SmallVector<Term, 2> terms;
  uint64_t constant = 0;

  bool Add(const llvm::GEPOperator& gep, const llvm::DataLayout& layout) {
    llvm::MapVector<Value*, llvm::APInt> variable;
    llvm::APInt fixed(64, 0);
    if (!gep.collectOffset(layout, 64, variable, fixed)) return false;
    for (const auto& [index, scale] : variable) terms.push_back({index, scale.getZExtValue()});
    constant += fixed.getZExtValue();
    return true;
  }

  // log2 of a power of two that divides it, as far as can be proved.
  unsigned AlignLog2(const llvm::DataLayout& layout) const {
    unsigned align = static_cast<unsigned>(llvm::countr_zero(constant | uint64_t{1} << 63));
    for (const auto& [index, scale] : terms) {
      const unsigned own = llvm::computeKnownBits(index, layout).countMinTrailingZeros();
      align = std::min(align, own + static_cast<unsigned>(llvm::countr_zero(scale | uint64_t{1} << 63)));
    }
    return align;
  }

  Value* Make(llvm::IRBuilder<>& ir) const {
    Value* sum = nullptr;
    for (const auto& [index, scale] : terms) {
      Value* term = ir.CreateMul(ir.CreateSExtOrTrunc(index, ir.getInt64Ty()), ir.getInt64(scale));
      sum = sum == nullptr ? term : ir.CreateAdd(sum, term);
    }
    if (sum == nullptr) return ir.getInt64(constant);
    return constant == 0 ? sum : ir.CreateAdd(sum, ir.getInt64(constant));
  }
};

struct LocalAccess {
  llvm::Instruction* instruction;
  Offset offset;
};

// Other metadata speak of the whole access.
void CopyLocation(const llvm::Instruction& from, llvm::Instruction& to) {
  to.setMetadata("tutti.loc", from.getMetadata("tutti.loc"));
}

class Array {
 public:
  explicit Array(llvm::AllocaInst& alloca) : alloca_(alloca), layout_(alloca.getModule()->getDataLayout()) {}

  // Finds all accesses. False if it must stay as it is.
  bool IsInterleavable() {
    if (!Follow(alloca_, Offset()) || accesses_.empty()) return false;
    for (const LocalAccess& access : accesses_) {
      const uint64_t bytes = ElementBytes(TypeOf(access));
      if (bytes > 8) return false;
      distance_ = distance_ == 0 ? bytes : std::min(distance_, bytes);
    }
    return std::ranges::all_of(accesses_, [&](const LocalAccess& access) {
      const uint64_t bytes = ElementBytes(TypeOf(access));
      // In pieces of bytes and halves it would cost more than it saves.
      return bytes == distance_ ||
             (distance_ >= 4 && layout_.getTypeStoreSize(TypeOf(access)) / distance_ <= kMostPieces);
    });
  }

  void Interleave() {
    const uint64_t bytes = llvm::alignTo(alloca_.getAllocationSize(layout_)->getFixedValue(), distance_);
    llvm::IRBuilder<> ir(&alloca_);
    llvm::AllocaInst* all =
        ir.CreateAlloca(llvm::ArrayType::get(ir.getInt8Ty(), bytes * kLanes), nullptr, alloca_.getName());
    all->setAlignment(std::max(alloca_.getAlign(), llvm::Align(64)));
    MakeInterleaved(*all, distance_);
    for (const LocalAccess& access : accesses_) Replace(access, *all);
    while (!pointers_.empty()) pointers_.pop_back_val()->eraseFromParent();
    alloca_.eraseFromParent();
  }

 private:
  static llvm::Type* TypeOf(const LocalAccess& access) { return llvm::getLoadStoreType(access.instruction); }
  uint64_t ElementBytes(llvm::Type* type) const { return layout_.getTypeStoreSize(type->getScalarType()); }

  bool Follow(llvm::Instruction& pointer, const Offset& offset) {
    for (llvm::Use& use : pointer.uses()) {
      auto* user = llvm::cast<llvm::Instruction>(use.getUser());
      if (auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(user)) {
        Offset further = offset;
        if (use.getOperandNo() != 0 || !further.Add(*llvm::cast<llvm::GEPOperator>(gep), layout_)) return false;
        pointers_.push_back(gep);
        if (!Follow(*gep, further)) return false;
      } else if (llvm::isa<llvm::LifetimeIntrinsic>(user)) {
        pointers_.push_back(user);
      } else if (!IsPlainAccess(*user, pointer, offset)) {
        return false;
      } else {
        accesses_.push_back({user, offset});
      }
    }
    return true;
  }

  bool IsPlainAccess(llvm::Instruction& user, const Value& pointer, const Offset& offset) const {
    if (llvm::getLoadStorePointerOperand(&user) != &pointer) return false;
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(&user);
    if (store != nullptr && store->getValueOperand() == &pointer) return false;
    if (store != nullptr ? !store->isSimple() : !llvm::cast<llvm::LoadInst>(user).isSimple()) return false;
    const llvm::Type* element = llvm::getLoadStoreType(&user)->getScalarType();
    if (!element->isIntegerTy() && !element->isFloatTy() && !element->isDoubleTy()) return false;
    const uint64_t bits = element->getPrimitiveSizeInBits().getFixedValue();
    if (bits < 8 || !llvm::isPowerOf2_64(bits)) return false;
    // As the access demands: an address that is not faults, which one in pieces would not see.
    const llvm::Align needed = llvm::getLoadStoreAlignment(&user);
    return needed >= llvm::Align(bits / 8) && alloca_.getAlign() >= needed &&
           offset.AlignLog2(layout_) >= llvm::Log2(needed);
  }

  // Piece `p` of the access.
  Value* PieceAddress(llvm::IRBuilder<>& ir, Value* offset, llvm::AllocaInst& all, uint64_t p) const {
    Value* piece = p == 0 ? offset : ir.CreateAdd(offset, ir.getInt64(p * distance_));
    return ir.CreateGEP(ir.getInt8Ty(), &all, ir.CreateMul(piece, ir.getInt64(kLanes)));
  }

  void Replace(const LocalAccess& access, llvm::AllocaInst& all) const {
    llvm::IRBuilder<> ir(access.instruction);
    Value* offset = access.offset.Make(ir);
    llvm::Type* type = TypeOf(access);
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    const uint64_t elements = vector != nullptr ? vector->getNumElements() : 1;
    const uint64_t pieces = ElementBytes(type) / distance_;  // of an element
    llvm::Type* element = type->getScalarType();
    const llvm::Align align(distance_);
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(access.instruction)) {
      Value* all_elements = vector != nullptr ? llvm::Constant::getNullValue(type) : nullptr;
      for (uint64_t e = 0; e < elements; ++e) {
        Value* value = LoadElement(ir, *load, offset, all, e * pieces, pieces, element, align);
        all_elements = vector != nullptr ? ir.CreateInsertElement(all_elements, value, e) : value;
      }
      load->replaceAllUsesWith(all_elements);
    } else {
      auto* store = llvm::cast<llvm::StoreInst>(access.instruction);
      for (uint64_t e = 0; e < elements; ++e) {
        Value* value = store->getValueOperand();
        if (vector != nullptr) value = ir.CreateExtractElement(value, e);
        StoreElement(ir, *store, value, offset, all, e * pieces, pieces, align);
      }
    }
    access.instruction->eraseFromParent();
  }

  Value* LoadElement(llvm::IRBuilder<>& ir, const llvm::LoadInst& old, Value* offset, llvm::AllocaInst& all,
                     uint64_t first, uint64_t pieces, llvm::Type* element, llvm::Align align) const {
    llvm::Type* word = pieces == 1 ? element : ir.getIntNTy(static_cast<unsigned>(distance_ * 8));
    llvm::Type* whole = ir.getIntNTy(static_cast<unsigned>(pieces * distance_ * 8));
    Value* value = nullptr;
    for (uint64_t p = 0; p < pieces; ++p) {
      llvm::LoadInst* piece = ir.CreateAlignedLoad(word, PieceAddress(ir, offset, all, first + p), align);
      CopyLocation(old, *piece);
      if (pieces == 1) return piece;
      Value* wide = ir.CreateShl(ir.CreateZExt(piece, whole), p * distance_ * 8);
      value = value == nullptr ? wide : ir.CreateOr(value, wide);
    }
    return ir.CreateBitCast(value, element);
  }

  void StoreElement(llvm::IRBuilder<>& ir, const llvm::StoreInst& old, Value* value, Value* offset,
                    llvm::AllocaInst& all, uint64_t first, uint64_t pieces, llvm::Align align) const {
    if (pieces > 1) value = ir.CreateBitCast(value, ir.getIntNTy(static_cast<unsigned>(pieces * distance_ * 8)));
    for (uint64_t p = 0; p < pieces; ++p) {
      Value* word = value;
      if (pieces > 1)
        word =
            ir.CreateTrunc(ir.CreateLShr(value, p * distance_ * 8), ir.getIntNTy(static_cast<unsigned>(distance_ * 8)));
      CopyLocation(old, *ir.CreateAlignedStore(word, PieceAddress(ir, offset, all, first + p), align));
    }
  }

  llvm::AllocaInst& alloca_;
  const llvm::DataLayout& layout_;
  uint64_t distance_ = 0;  // of two lanes' copies of an element: its bytes
  std::vector<LocalAccess> accesses_;
  llvm::SmallVector<llvm::Instruction*, 16> pointers_;  // derived from it, each after what it is derived from
};

// select c, A + x, A + y becomes A + (select c, x, y): SROA makes the former of the latter.
void ChooseOffsets(llvm::Function& kernel) {
  const llvm::DataLayout& layout = kernel.getParent()->getDataLayout();
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(kernel))) {
    auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction);
    if (select == nullptr || !select->getType()->isPointerTy()) continue;
    llvm::APInt left(64, 0), right(64, 0);
    Value* from = select->getTrueValue()->stripAndAccumulateConstantOffsets(layout, left, /*AllowNonInbounds=*/true);
    if (!llvm::isa<llvm::AllocaInst>(from) || from->getType() != select->getType() ||
        select->getFalseValue()->stripAndAccumulateConstantOffsets(layout, right, /*AllowNonInbounds=*/true) != from)
      continue;
    llvm::IRBuilder<> ir(select);
    Value* offset = ir.CreateSelect(select->getCondition(), ir.getInt(left), ir.getInt(right));
    select->replaceAllUsesWith(ir.CreateGEP(ir.getInt8Ty(), from, offset));
    llvm::RecursivelyDeleteTriviallyDeadInstructions(select);
  }
}

}  // namespace

void InterleaveLocals(llvm::Function& kernel) {
  ChooseOffsets(kernel);
  std::vector<llvm::AllocaInst*> allocas;
  for (llvm::Instruction& instruction : kernel.getEntryBlock()) {
    auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (alloca != nullptr && alloca->isStaticAlloca() && !IsWarpVariable(*alloca)) allocas.push_back(alloca);
  }
  for (llvm::AllocaInst* alloca : allocas) {
    if (Array array(*alloca); array.IsInterleavable()) array.Interleave();
  }
}

}  // namespace tutti::compiler
