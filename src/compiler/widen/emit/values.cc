#include "compiler/widen/emit/values.h"

#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/Constants.h>

namespace tutti::compiler {
namespace {

// Keys of the cache: vectors by component, slots loaded by part.
constexpr unsigned kPartKey = 1u << 16;

llvm::Value* Add(llvm::IRBuilder<>& builder, llvm::Value* value, int64_t offset) {
  if (offset == 0) return value;
  return builder.CreateAdd(value, llvm::ConstantInt::getSigned(value->getType(), offset));
}

}  // namespace

Values::Values(llvm::IRBuilder<>& builder, const ShapeAnalysis& shapes, const Schedule& schedule,
               llvm::BasicBlock* slots, const llvm::BasicBlock* prologue)
    : builder_(builder), shapes_(shapes), schedule_(schedule), slots_(slots), prologue_(prologue) {}

llvm::Type* Values::Scalar(llvm::Type* type) {
  return type->isPointerTy() ? llvm::Type::getInt64Ty(type->getContext()) : type;
}

unsigned Values::ComponentCount(llvm::Type* type) {
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) return vector->getNumElements();
  if (const auto* structure = llvm::dyn_cast<llvm::StructType>(type)) return structure->getNumElements();
  return 1;
}

llvm::Type* Values::Component(llvm::Type* type, unsigned i) {
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) return Scalar(vector->getElementType());
  if (const auto* structure = llvm::dyn_cast<llvm::StructType>(type)) return Scalar(structure->getElementType(i));
  return Scalar(type);
}

llvm::FixedVectorType* Values::Wide(llvm::Type* scalar) { return llvm::FixedVectorType::get(Scalar(scalar), kLanes); }

bool Values::IsSupported(llvm::Type* type) {
  if (type->isVoidTy() || type->isPointerTy()) return true;
  const auto plain = [](llvm::Type* element) { return element->isIntegerTy() || element->isFloatingPointTy(); };
  if (plain(type)) return true;
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) return plain(vector->getElementType());
  if (const auto* structure = llvm::dyn_cast<llvm::StructType>(type)) return llvm::all_of(structure->elements(), plain);
  return false;
}

void Values::EnterBlock(unsigned block) {
  block_ = block;
  cache_.clear();
}

llvm::AllocaInst* Values::Slot(llvm::Type* type, const llvm::Twine& name) {
  llvm::IRBuilder<> builder(slots_, slots_->begin());
  return builder.CreateAlloca(type, nullptr, name);
}

bool Values::NeedsSlots(const llvm::Value* value, unsigned block) const {
  for (const llvm::Use& use : value->uses()) {
    const auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    const auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
    const unsigned at = schedule_.index(phi != nullptr ? phi->getIncomingBlock(use) : user->getParent());
    if (!schedule_.Dominates(block, at)) return true;
  }
  return false;
}

void Values::Define(const llvm::Value* value, llvm::ArrayRef<llvm::Value*> made) {
  Definition& definition = definitions_[value];
  definition.block = block_;
  definition.parts.assign(made.begin(), made.end());
  if (shape(value).is_varying()) {
    // An intrinsic may return one value to all lanes that are here now (the time, for example) and still vary, because
    // other lanes get here at another time.
    for (auto& part : definition.parts) {
      if (!part->getType()->isVectorTy()) part = builder_.CreateVectorSplat(kLanes, part);
    }
  }
  const auto& parts = definition.parts;
  if (llvm::isa<llvm::Instruction>(value) && NeedsSlots(value, block_)) {
    for (llvm::Value* part : parts) {
      llvm::AllocaInst* slot = Slot(part->getType());
      builder_.CreateStore(part, slot);
      definition.slots.push_back(slot);
    }
  }
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr) return;
  for (const WrapTerm& term : shape(value).wraps()) {
    if (term.extension == instruction) DefineWrap(*instruction);
  }
}

llvm::Value* Values::Part(const llvm::Value* value, unsigned i) {
  const auto found = definitions_.find(value);
  assert(found != definitions_.end());
  const Definition& definition = found->second;
  if (definition.slots.empty()) return definition.parts[i];
  if (schedule_.Dominates(definition.block, block_)) return definition.parts[i];
  llvm::Value*& loaded = cache_[{value, kPartKey + i}];
  if (loaded == nullptr) loaded = builder_.CreateLoad(definition.parts[i]->getType(), definition.slots[i]);
  return loaded;
}

bool Values::IsAtHand(const llvm::Value* value) const {
  if (!llvm::isa<llvm::Instruction>(value)) return true;
  const auto found = definitions_.find(value);
  if (found == definitions_.end()) return false;
  const Definition& definition = found->second;
  return !definition.slots.empty() || schedule_.Dominates(definition.block, block_) ||
         llvm::all_of(definition.parts, [this](const llvm::Value* part) {
           const auto* instruction = llvm::dyn_cast<llvm::Instruction>(part);
           return instruction == nullptr || instruction->getParent() == prologue_;
         });
}

llvm::Value* Values::ConstantPart(const llvm::Constant* constant, unsigned component) {
  llvm::Type* type = constant->getType();
  if (ComponentCount(type) > 1 || type->isVectorTy() || type->isStructTy()) {
    constant = constant->getAggregateElement(component);
    type = constant->getType();
  }
  if (llvm::isa<llvm::UndefValue>(constant)) return llvm::Constant::getNullValue(Scalar(type));
  if (!type->isPointerTy()) return const_cast<llvm::Constant*>(constant);
  if (constant->isNullValue()) return llvm::Constant::getNullValue(Scalar(type));
  return llvm::ConstantExpr::getPtrToInt(const_cast<llvm::Constant*>(constant), Scalar(type));
}

llvm::Value* Values::Base(const llvm::Value* value, unsigned run, unsigned r) {
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(value)) {
    if (llvm::isa<llvm::UndefValue>(constant)) return llvm::Constant::getNullValue(Scalar(constant->getType()));
    if (constant->getType()->isPointerTy()) return ConstantPart(constant, 0);
    return const_cast<llvm::Constant*>(constant);
  }
  return Part(value, r * run / shape(value).run());
}

llvm::Value* Values::InRun(const llvm::Value* value, unsigned run, unsigned r) {
  return Add(builder_, Base(value, run, r), shape(value).offset(r * run));
}

llvm::Constant* Values::ConstantLanes(llvm::Type* integer, const Shape& shape, int64_t from) {
  llvm::SmallVector<llvm::Constant*, kLanes> lanes;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    lanes.push_back(
        llvm::ConstantInt::getSigned(llvm::cast<llvm::IntegerType>(integer), Difference(shape.offset(lane), from)));
  }
  return llvm::ConstantVector::get(lanes);
}

llvm::Value* Values::FromBases(llvm::ArrayRef<llvm::Value*> bases, const Shape& shape, llvm::Type* type) {
  if (shape.is_constant_lanes()) return ConstantLanes(type, shape);
  // The offset of lane 0 moves to the base: x[i], x[i + 1], ... then share their vector constants, which are large and
  // which code generation looks up one by one.
  const int64_t first = shape.offset(0);
  llvm::Value* vector;
  if (bases.size() == 1) {
    vector = builder_.CreateVectorSplat(kLanes, Add(builder_, bases[0], first));
  } else {
    llvm::Value* packed = llvm::PoisonValue::get(llvm::FixedVectorType::get(type, static_cast<unsigned>(bases.size())));
    for (unsigned r = 0; r < bases.size(); ++r)
      packed = builder_.CreateInsertElement(packed, Add(builder_, bases[r], first), r);
    llvm::SmallVector<int, kLanes> lanes;
    for (unsigned lane = 0; lane < kLanes; ++lane) lanes.push_back(static_cast<int>(lane / shape.run()));
    vector = builder_.CreateShuffleVector(packed, lanes);
  }
  if (shape.has_offsets()) vector = builder_.CreateAdd(vector, ConstantLanes(type, shape, first));
  return vector;
}

llvm::Value* Values::Vector(const llvm::Value* value, unsigned component) {
  const Shape& shape = this->shape(value);
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(value)) {
    return builder_.CreateVectorSplat(kLanes, ConstantPart(constant, component));
  }
  if (shape.is_varying()) return Part(value, component);
  llvm::Value* known = cache_.lookup({value, component});
  if (known != nullptr) return known;

  llvm::Type* type = Component(value->getType(), component);
  const bool aggregate = value->getType()->isVectorTy() || value->getType()->isStructTy();
  llvm::SmallVector<llvm::Value*, 4> bases;
  for (unsigned r = 0; r < shape.run_count(); ++r) {
    llvm::Value* base = Base(value, shape.run(), r);
    if (value->getType()->isVectorTy()) base = builder_.CreateExtractElement(base, component);
    if (value->getType()->isStructTy()) base = builder_.CreateExtractValue(base, component);
    bases.push_back(base);
  }
  llvm::Value* vector = FromBases(bases, shape, type);
  if (!aggregate) {
    for (const WrapTerm& term : shape.wraps()) {
      llvm::Value* error = WrapError(*term.extension);
      if (error->getType() != vector->getType()) error = builder_.CreateTrunc(error, vector->getType());
      if (term.factor != 1)
        error = builder_.CreateMul(error, llvm::ConstantInt::getSigned(error->getType(), term.factor));
      vector = builder_.CreateAdd(vector, error);
    }
  }
  cache_[{value, component}] = vector;
  return vector;
}

// For each base b of the narrow operand, with offsets from `low` to `high`: no lane's b + offset leaves the range of
// the narrow type, signed or unsigned as the extension is. In 64 bits: b + low >= minimum and b + high <= maximum.
void Values::DefineWrap(const llvm::Instruction& extension) {
  const llvm::Value* operand = extension.getOperand(0);
  const Shape& narrow = shape(operand);
  const bool is_signed = llvm::isa<llvm::SExtInst>(extension);
  int64_t low = narrow.offset(0), high = low;
  for (unsigned lane = 1; lane < kLanes; ++lane) {
    low = std::min(low, narrow.offset(lane));
    high = std::max(high, narrow.offset(lane));
  }
  llvm::Value* all = nullptr;
  WrapState state;
  for (unsigned r = 0; r < narrow.run_count(); ++r) {
    llvm::Value* base = Base(operand, narrow.run(), r);
    llvm::Value* wide =
        is_signed ? builder_.CreateSExt(base, builder_.getInt64Ty()) : builder_.CreateZExt(base, builder_.getInt64Ty());
    llvm::Value* lowest = Add(builder_, wide, is_signed ? low + (int64_t{1} << 31) : low);
    llvm::Value* holds =
        builder_.CreateICmpULE(lowest, builder_.getInt64((uint64_t{1} << 32) - 1 - static_cast<uint64_t>(high - low)));
    all = all == nullptr ? holds : builder_.CreateAnd(all, holds);
    llvm::AllocaInst* slot = Slot(base->getType());
    builder_.CreateStore(base, slot);
    state.narrow.push_back(slot);
  }
  state.holds = Slot(builder_.getInt1Ty(), "no_wrap");
  builder_.CreateStore(all, state.holds);
  wraps_[&extension] = std::move(state);
}

// Exact extension minus extended base plus offset.
llvm::Value* Values::WrapError(const llvm::Instruction& extension) {
  const Shape& narrow = shape(extension.getOperand(0));
  const WrapState& state = wraps_.find(&extension)->second;
  const bool is_signed = llvm::isa<llvm::SExtInst>(extension);
  llvm::SmallVector<llvm::Value*, 2> bases, wide_bases;
  for (llvm::AllocaInst* slot : state.narrow) {
    llvm::Value* base = builder_.CreateLoad(slot->getAllocatedType(), slot);
    bases.push_back(base);
    wide_bases.push_back(is_signed ? builder_.CreateSExt(base, builder_.getInt64Ty())
                                   : builder_.CreateZExt(base, builder_.getInt64Ty()));
  }
  llvm::Value* vector = FromBases(bases, narrow, bases[0]->getType());
  llvm::Type* wide = Wide(builder_.getInt64Ty());
  vector = is_signed ? builder_.CreateSExt(vector, wide) : builder_.CreateZExt(vector, wide);
  return builder_.CreateSub(vector, FromBases(wide_bases, narrow, builder_.getInt64Ty()));
}

llvm::Value* Values::Assumption(const llvm::Value* value) {
  llvm::Value* all = nullptr;
  for (const WrapTerm& term : shape(value).wraps()) {
    llvm::Value* holds = builder_.CreateLoad(builder_.getInt1Ty(), wraps_.find(term.extension)->second.holds);
    all = all == nullptr ? holds : builder_.CreateAnd(all, holds);
  }
  return all;
}

}  // namespace tutti::compiler
