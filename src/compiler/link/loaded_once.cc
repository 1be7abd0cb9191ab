#include "compiler/link/loaded_once.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include <algorithm>
#include <numeric>

#include "compiler/link/rounds.h"

namespace tutti::compiler {
namespace {

using llvm::Instruction;
using llvm::Value;

// The compiler's own memory: variables, and what the runtime keeps of warps and blocks. Guest addresses are integers,
// but what a step is given of the values of its block may be made of one.
bool IsOwn(const Value* pointer) {
  while (const auto* moved = llvm::dyn_cast<llvm::GEPOperator>(pointer)) pointer = moved->getPointerOperand();
  if (const auto* argument = llvm::dyn_cast<llvm::Argument>(pointer))
    return !argument->getParent()->getName().starts_with("tutti.step") || argument->getArgNo() < Step::kValues;
  return llvm::isa<llvm::AllocaInst, llvm::GlobalValue>(pointer);
}

bool IsOfGuest(const Value* pointer) {
  while (const auto* moved = llvm::dyn_cast<llvm::GEPOperator>(pointer)) pointer = moved->getPointerOperand();
  return llvm::Operator::getOpcode(pointer) == Instruction::IntToPtr;
}

// Of a struct: all of it.
bool IsOfFloats(const llvm::Type& type) {
  if (const auto* structure = llvm::dyn_cast<llvm::StructType>(&type))
    return llvm::all_of(structure->elements(), [](const llvm::Type* element) { return IsOfFloats(*element); });
  return type.isFPOrFPVectorTy();
}

// Arithmetic in floating point, by functions too, has one result, which the code generator does not compute again for a
// part. With a constant it may be none: x * 1 is x, for the code generator if nobody has said so before. All else may
// only pass on what was loaded, or a part of it, be it as a number of another kind or compared.
bool IsComputed(const Instruction& instruction) {
  if (!IsOfFloats(*instruction.getType())) return false;
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  const auto is_constant = [](const Value* operand) { return llvm::isa<llvm::Constant>(operand); };
  if (call == nullptr) return instruction.isBinaryOp() && llvm::none_of(instruction.operands(), is_constant);
  const llvm::Intrinsic::ID intrinsic = call->getIntrinsicID();
  return intrinsic == llvm::Intrinsic::not_intrinsic || intrinsic == llvm::Intrinsic::fma ||
         intrinsic == llvm::Intrinsic::fmuladd;
}

// A masked load cannot be volatile, and where the code generator knows a part of its mask it makes plain loads of that.
// So what it has loaded comes by way of assembly that does nothing: each byte is used once, by that.
void UseOnce(llvm::IntrinsicInst& load) {
  constexpr uint64_t kLeastBits = 128;  // of registers: every processor has such
  auto* const type = llvm::dyn_cast<llvm::FixedVectorType>(load.getType());
  const uint64_t bits = type == nullptr ? 0 : type->getPrimitiveSizeInBits().getFixedValue();
  if (bits == 0 || bits % 8 != 0) return;  // widening makes none
  const unsigned unit = bits % 32 == 0 ? 32 : 8;
  const auto count = static_cast<unsigned>(bits / unit);
  const uint64_t most_bits = load.getFunction()->getFnAttributeAsParsedInteger("prefer-vector-width", kLeastBits);
  const uint64_t part_bits = unit == 8 ? kLeastBits : std::clamp<uint64_t>(bits & -bits, kLeastBits, most_bits);

  llvm::SmallVector<llvm::Use*, 8> uses;
  for (llvm::Use& use : load.uses()) uses.push_back(&use);
  llvm::IRBuilder<> builder(load.getNextNode());
  llvm::Type* const element = builder.getIntNTy(unit);
  const auto part_count = static_cast<unsigned>(part_bits / unit);
  auto* const part_type = llvm::FixedVectorType::get(element, part_count);
  auto* const nothing = llvm::InlineAsm::get(llvm::FunctionType::get(part_type, {part_type}, false), "", "=v,0", false);
  Value* const units = builder.CreateBitCast(&load, llvm::FixedVectorType::get(element, count));
  llvm::SmallVector<Value*, 8> parts;
  for (unsigned first = 0; first < count; first += part_count) {
    llvm::SmallVector<int, 16> own;
    for (unsigned i = first; i < first + part_count; ++i) own.push_back(i < count ? static_cast<int>(i) : -1);
    llvm::CallInst* const part = builder.CreateCall(nothing, builder.CreateShuffleVector(units, own));
    part->setDoesNotAccessMemory();
    parts.push_back(part);
  }
  llvm::SmallVector<int, 64> all(count);
  std::iota(all.begin(), all.end(), 0);
  Value* const joined = builder.CreateShuffleVector(llvm::concatenateVectors(builder, parts), all);
  Value* const used = builder.CreateBitCast(joined, type);
  for (llvm::Use* use : uses) use->set(used);
}

// From where accesses and branches are decided, back to the loads.
class Deciders {
 public:
  explicit Deciders(llvm::Function& function) {
    for (Instruction& instruction : llvm::instructions(function)) FindDecided(instruction);
  }

  void MarkLoads() {
    while (!work_.empty()) {
      Instruction& instruction = *work_.pop_back_val();
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
        if (!load->hasMetadata(llvm::LLVMContext::MD_invariant_load) && !IsOwn(load->getPointerOperand()))
          load->setVolatile(true);
        continue;
      }
      if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
          call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::masked_load) {
        if (!IsOwn(call->getArgOperand(0))) masked_.push_back(call);
        continue;  // its operands decide, too
      }
      if (IsComputed(instruction)) continue;
      for (Value* operand : instruction.operands()) Add(operand);
    }
    for (llvm::IntrinsicInst* load : masked_) UseOnce(*load);
  }

 private:
  void Add(Value* value) {
    auto* instruction = llvm::dyn_cast<Instruction>(value);
    if (instruction != nullptr && seen_.insert(instruction).second) work_.push_back(instruction);
  }

  void FindDecided(Instruction& instruction) {
    if (Value* pointer = llvm::getLoadStorePointerOperand(&instruction)) {
      Add(pointer);
      // It may be loaded from there, as an index.
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction); store != nullptr && !IsOfGuest(pointer))
        Add(store->getValueOperand());
    } else if (instruction.isTerminator() || instruction.mayReadOrWriteMemory()) {
      for (Value* operand : instruction.operands()) Add(operand);
    }
  }

  llvm::SmallVector<llvm::IntrinsicInst*, 4> masked_;
  llvm::SmallPtrSet<const Instruction*, 32> seen_;
  llvm::SmallVector<Instruction*, 32> work_;
};

}  // namespace

void LoadOnce(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) Deciders(function).MarkLoads();
  }
}

}  // namespace tutti::compiler
