// The lane's code is a copy of the scalar function inside a loop over the active lanes:
//
//     arrays of arguments = vectors
//     for each active lane: arguments = arrays[lane]; the function's blocks; arrays of results[lane] = results
//     vectors = arrays of results
//
// In place, so that what does not depend on the lane moves out of the loops, limits of address checks among them.
#include "compiler/widen/lanes/lane_calls.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>

#include <map>

#include "compiler/widen/analysis/path_facts.h"
#include "compiler/widen/analysis/span.h"
#include "compiler/widen/emit/function_emitter.h"
#include "compiler/widen/lanes/lane_rounds.h"
#include "compiler/widen/lanes/round_question.h"
#include "compiler/widen/memory/address_check.h"

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

constexpr unsigned kMostDepth = 6;  // of sums
constexpr uint64_t kMostScale = 12;  // of an index
constexpr size_t kMostBases = 8;     // of an address

// A vector of which a loop over lanes reads or writes one element after the other.
class LaneElements {
 public:
  LaneElements(FunctionEmitter& emitter, llvm::Type* type)
      : emitter_(emitter), builder_(emitter.builder()), type_(type), stored_(Stored(type)) {
    array_ = emitter.LaneArray(stored_);
  }

  void Fill(Value* vector) {
    builder_.CreateStore(stored_ == type_ ? vector : builder_.CreateZExt(vector, Values::Wide(stored_)), array_);
  }
  void Clear() { builder_.CreateStore(llvm::Constant::getNullValue(Values::Wide(stored_)), array_); }
  Value* Read(Value* lane) {
    return Narrowed(builder_.CreateLoad(stored_, emitter_.LaneElement(array_, stored_, lane)), type_);
  }
  void Write(Value* lane, Value* value) {
    builder_.CreateStore(stored_ == type_ ? value : builder_.CreateZExt(value, stored_),
                         emitter_.LaneElement(array_, stored_, lane));
  }
  Value* Whole() { return Narrowed(builder_.CreateLoad(Values::Wide(stored_), array_), Values::Wide(type_)); }

 private:
  // Predicates are bytes in memory.
  static llvm::Type* Stored(llvm::Type* type) {
    return type->isIntegerTy(1) ? llvm::Type::getInt8Ty(type->getContext()) : type;
  }
  Value* Narrowed(Value* value, llvm::Type* type) {
    return stored_ == type_ ? value : builder_.CreateTrunc(value, type);
  }

  FunctionEmitter& emitter_;
  llvm::IRBuilder<>& builder_;
  llvm::Type *type_, *stored_;
  llvm::AllocaInst* array_;
};

class LaneCall {
 public:
  LaneCall(FunctionEmitter& emitter, const llvm::CallInst& call)
      : emitter_(emitter),
        builder_(emitter.builder()),
        call_(call),
        function_(*call.getCalledFunction()),
        facts_(function_),
        spans_(function_, emitter.module().module.getDataLayout()) {}

  void Emit() {
    llvm::SmallVector<std::pair<Value*, std::unique_ptr<LaneElements>>, 8> arguments;
    for (const Value* argument : call_.args()) {
      if (emitter_.shape(argument).is_uniform()) {
        arguments.emplace_back(emitter_.values().Uniform(argument), nullptr);
        continue;
      }
      auto elements = std::make_unique<LaneElements>(emitter_, Values::Scalar(argument->getType()));
      elements->Fill(emitter_.values().Vector(argument));
      arguments.emplace_back(nullptr, std::move(elements));
    }
    llvm::SmallVector<std::unique_ptr<LaneElements>, 8> results;
    for (unsigned i = 0; i < result_count(); ++i) {
      results.push_back(std::make_unique<LaneElements>(emitter_, Values::Component(call_.getType(), i)));
      results.back()->Clear();
    }
    emitter_.module().wide_operations += 4 * (arguments.size() + results.size());
    for (const BasicBlock& block : function_) FindCounted(block);

    emitter_.ForEachLane(emitter_.mask_bits(), [&](Value* lane) {
      lane_ = lane;
      for (unsigned i = 0; i < arguments.size(); ++i) {
        Value* value = arguments[i].first != nullptr ? arguments[i].first : arguments[i].second->Read(lane);
        llvm::Type* type = function_.getArg(i)->getType();
        made_[function_.getArg(i)] = type->isPointerTy() ? builder_.CreateIntToPtr(value, type) : value;
      }
      Copy();
      for (unsigned i = 0; i < results.size(); ++i) results[i]->Write(lane, builder_.CreateExtractValue(returned_, i));
    });

    llvm::SmallVector<Value*, 8> vectors;
    for (const auto& result : results) vectors.push_back(result->Whole());
    if (!vectors.empty()) emitter_.Define(call_, vectors);
  }

 private:
  unsigned result_count() const { return call_.getType()->isVoidTy() ? 0 : call_.getType()->getStructNumElements(); }

  // Emits the function's blocks and continues where it returns.
  void Copy() {
    llvm::Function* wide = builder_.GetInsertBlock()->getParent();
    const auto make = [&](const llvm::Twine& name) { return BasicBlock::Create(wide->getContext(), name, wide); };
    const llvm::ReversePostOrderTraversal<llvm::Function*> blocks(&function_);
    for (BasicBlock* block : blocks) starts_[block] = make(block->getName());
    BasicBlock* done = make("");
    builder_.CreateBr(starts_[&function_.getEntryBlock()]);
    for (auto& [block, counted] : counted_) {
      counted.unchecked = starts_[block];
      counted.checked = make("");
    }
    for (BasicBlock* block : blocks) {
      builder_.SetInsertPoint(starts_[block]);
      if (const auto counted = counted_.find(block); counted != counted_.end()) {
        CopyCounted(*block, counted->second);
        continue;
      }
      if (const auto spans = SpansOfRound(*block); !spans.empty()) {
        CopyLoop(*block, spans);
        continue;
      }
      for (const Instruction& instruction : *block) {
        if (llvm::isa<llvm::ReturnInst>(instruction)) {
          if (result_count() != 0) returned_ = Made(instruction.getOperand(0));
          builder_.CreateBr(done);
        } else if (const auto counted = counted_.find(block->getSingleSuccessor());
                   instruction.isTerminator() && counted != counted_.end()) {
          AskForAllRounds(counted->second);
        } else {
          CopyInstruction(instruction);
        }
      }
      ends_[block] = builder_.GetInsertBlock();
    }
    for (const auto& [phi, copy] : phis_) {
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
        const BasicBlock* from = phi->getIncomingBlock(i);
        const auto unchecked = unchecked_.find(from);
        if (unchecked != unchecked_.end())
          copy->addIncoming(unchecked->second.Made(*this, phi->getIncomingValue(i)), unchecked->second.end);
        if (unchecked == unchecked_.end() || phi->getParent() != from)
          copy->addIncoming(Made(phi->getIncomingValue(i)), ends_[from]);
      }
    }
    builder_.SetInsertPoint(done);
  }

  // Of a loop of one block: the first copy, whose accesses through known addresses are not checked each.
  struct Unchecked {
    llvm::DenseMap<const Value*, Value*> made;
    BasicBlock* end = nullptr;

    Value* Made(const LaneCall& call, Value* value) const {
      Value* own = made.lookup(value);
      return own != nullptr ? own : call.Made(value);
    }
  };

  // Accesses that share a span, by the first of each, if the block is a loop and the round's first instructions tell
  // where all of the span is. Else it would be two branches for an unrolled round's every element.
  llvm::SmallVector<const Instruction*, 4> SpansOfRound(const BasicBlock& block) {
    llvm::SmallVector<const Instruction*, 4> first;
    if (!CanHaveTwoCopies(block)) return first;
    llvm::SmallPtrSet<const Span*, 4> seen;
    for (const Instruction& instruction : block) {
      const Span* span = spans_.Of(instruction);
      if (span == nullptr || !seen.insert(span).second || !IsKnownAtStart(*span->base, block)) continue;
      // The first access may need no check where others do, or be checked against another memory.
      const Region region = RegionOfAccess(instruction);
      if (!AddressCheck(emitter_, region, instruction).is_off() && IsCheckedBySpan(*span, region))
        first.push_back(&instruction);
    }
    return first;
  }

  // Two copies of a loop. The first asks at the start of a round whether all that `spans` reach may be accessed, and
  // leaves for the second, which checks each access in its place and never comes back.
  void CopyLoop(BasicBlock& block, llvm::ArrayRef<const Instruction*> spans) {
    BasicBlock* const start = starts_[&block];
    for (const llvm::PHINode& phi : block.phis()) CopyInstruction(phi);
    llvm::SmallPtrSet<const Instruction*, 8> early;
    Value* holds = builder_.getTrue();
    for (const Instruction* access : spans) {
      CopyEarly(*spans_.Of(*access)->base, block, early);
      holds = builder_.CreateAnd(holds, SpanHolds(*access, RegionOfAccess(*access)));
    }
    BasicBlock* const asked = builder_.GetInsertBlock();
    const auto make = [&] { return BasicBlock::Create(start->getContext(), "", start->getParent()); };
    BasicBlock *unchecked = make(), *checked = make();
    builder_.CreateCondBr(holds, unchecked, checked, llvm::MDBuilder(start->getContext()).createLikelyBranchWeights());
    builder_.SetInsertPoint(unchecked);
    CopyUnchecked(block, spans, early);
    const auto& first = unchecked_[&block].made;
    CopyChecked(block, checked, asked, [&](const llvm::PHINode& phi) { return first.lookup(&phi); });
  }

  // The same for a loop that has been asked for all its rounds: the second copy is entered in front of the first round.
  struct Counted {
    CountedLoop loop;
    llvm::SmallVector<RoundAccess, 4> accesses;
    Value* holds_for_warp = nullptr;  // i1, in front of the lanes' loop
    BasicBlock *unchecked = nullptr, *checked = nullptr;
  };

  // Spans of several accesses are asked for round by round: such rounds are few, and questions about all of them dear.
  void FindCounted(const BasicBlock& block) {
    const auto loop = FindCountedLoop(block);
    if (!loop) return;
    Counted counted{.loop = *loop};
    for (const Instruction& instruction : block) {
      const Span* span = spans_.Of(instruction);
      if (span == nullptr) continue;
      const Region region = RegionOfAccess(instruction);
      if (AddressCheck(emitter_, region, instruction).is_off() || !CanBeCheckedAtOnce(*span, region)) continue;
      if (span->accesses > 1 && IsKnownAtStart(*span->base, block)) return;
      if (span->accesses == 1 && StepLog2(*span->base, block, span->align_log2))
        counted.accesses.push_back({&instruction, span, region});
    }
    if (counted.accesses.empty()) return;
    counted.holds_for_warp = AllRoundsHoldForWarp(emitter_, call_, counted.loop, counted.accesses);
    counted_[&block] = std::move(counted);
  }

  // In place of the branch to the loop.
  void AskForAllRounds(const Counted& counted) {
    Value* holds = counted.holds_for_warp;
    if (holds == nullptr)
      holds = AllRoundsHold(emitter_, counted.loop, counted.accesses, [&](const Value& value) {
        Value* made = Made(const_cast<Value*>(&value));
        return made->getType()->isPointerTy() ? builder_.CreatePtrToInt(made, builder_.getInt64Ty()) : made;
      });
    builder_.CreateCondBr(holds, counted.unchecked, counted.checked,
                          llvm::MDBuilder(builder_.getContext()).createLikelyBranchWeights());
  }

  void CopyCounted(BasicBlock& block, const Counted& counted) {
    for (const llvm::PHINode& phi : block.phis()) CopyInstruction(phi);
    llvm::SmallVector<const Instruction*, 4> spans;
    for (const RoundAccess& access : counted.accesses) spans.push_back(access.instruction);
    CopyUnchecked(block, spans, {});
    CopyChecked(block, counted.checked, ends_[counted.loop.before],
                [&](const llvm::PHINode& phi) { return Made(phi.getIncomingValueForBlock(counted.loop.before)); });
  }

  void CopyUnchecked(const BasicBlock& block, llvm::ArrayRef<const Instruction*> spans,
                     const llvm::SmallPtrSet<const Instruction*, 8>& early) {
    for (const Instruction* access : spans) spans_.Of(*access)->holds = builder_.getTrue();
    for (const Instruction& instruction : block) {
      if (!llvm::isa<llvm::PHINode>(instruction) && !early.contains(&instruction)) CopyInstruction(instruction);
    }
    Unchecked& first = unchecked_[&block];
    first.end = builder_.GetInsertBlock();
    for (const Instruction& instruction : block)
      first.made[&instruction] = Made(const_cast<Instruction*>(&instruction));
  }

  // The second copy, entered from `asked`, where `entering` are the values of the loop's phis.
  void CopyChecked(BasicBlock& block, BasicBlock* checked, BasicBlock* asked,
                   llvm::function_ref<Value*(const llvm::PHINode&)> entering) {
    builder_.SetInsertPoint(checked);
    starts_[&block] = checked;
    for (const Instruction& instruction : block) {
      if (Span* span = spans_.Of(instruction)) span->holds = nullptr;
    }
    llvm::SmallVector<std::pair<const llvm::PHINode*, llvm::PHINode*>, 8> phis;
    for (const llvm::PHINode& phi : block.phis()) {
      phis.emplace_back(&phi, builder_.CreatePHI(phi.getType(), 2));
      phis.back().second->addIncoming(entering(phi), asked);
      made_[&phi] = phis.back().second;
    }
    for (const Instruction& instruction : block) {
      if (!llvm::isa<llvm::PHINode>(instruction)) CopyInstruction(instruction);
    }
    ends_[&block] = builder_.GetInsertBlock();
    for (const auto& [phi, copy] : phis) {
      copy->addIncoming(Made(phi->getIncomingValueForBlock(&block)), ends_[&block]);
    }
  }

  void CopyEarly(const Value& value, const BasicBlock& block, llvm::SmallPtrSet<const Instruction*, 8>& early) {
    const auto* instruction = llvm::dyn_cast<Instruction>(&value);
    if (instruction == nullptr || instruction->getParent() != &block || llvm::isa<llvm::PHINode>(instruction) ||
        !early.insert(instruction).second)
      return;
    for (const llvm::Use& operand : instruction->operands()) CopyEarly(*operand.get(), block, early);
    CopyInstruction(*instruction);
  }

  // i1: all that the span of this access reaches may be accessed.
  Value* SpanHolds(const Instruction& instruction, const Region& region) {
    const Span& span = *spans_.Of(instruction);
    return AddressCheck(emitter_, region, instruction)
        .Covers(AddressAt(span.base, region, span.low), static_cast<uint64_t>(span.high - span.low), span.align_log2);
  }

  Region RegionOfAccess(const Instruction& instruction) {
    const Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
    llvm::Type* type = llvm::getLoadStoreType(const_cast<Instruction*>(&instruction));
    Region region = RegionOf(emitter_, facts_, instruction, pointer,
                             emitter_.module().module.getDataLayout().getTypeStoreSize(type));
    if (llvm::isa<llvm::StoreInst>(instruction)) OnlyWritable(region);
    return region;
  }

  // What is written cannot be checked against memory that is only read.
  static bool CanBeCheckedAtOnce(const Span& span, const Region& region) {
    return !(span.writes && region.likely == guest_runtime::kConstants);
  }
  // Of several accesses.
  static bool IsCheckedBySpan(const Span& span, const Region& region) {
    return span.accesses > 1 && CanBeCheckedAtOnce(span, region);
  }

  Value* Made(Value* value) const {
    Value* made = made_.lookup(value);
    return made != nullptr ? made : value;  // a constant
  }

  void CopyInstruction(const Instruction& instruction) {
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
      llvm::PHINode* copy = builder_.CreatePHI(phi->getType(), phi->getNumIncomingValues());
      phis_.emplace_back(phi, copy);
      made_[phi] = copy;
      return;
    }
    if (llvm::isa<llvm::AssumeInst>(instruction)) return;
    if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction)) return CopyAccess(instruction);
    Instruction* copy = instruction.clone();
    copy->dropUnknownNonDebugMetadata();
    for (llvm::Use& operand : copy->operands()) {
      auto* block = llvm::dyn_cast<BasicBlock>(operand.get());
      operand.set(block != nullptr ? starts_.lookup(block) : Made(operand.get()));
    }
    builder_.Insert(copy);
    made_[&instruction] = copy;
  }

  Value* AddressAt(const Value* pointer, const Region& region, int64_t distance) {
    Value* address = builder_.CreatePtrToInt(Made(const_cast<Value*>(pointer)), builder_.getInt64Ty());
    address = builder_.CreateAdd(address, llvm::ConstantInt::getSigned(address->getType(), distance));
    return region.base != nullptr ? builder_.CreateAdd(address, region.base) : address;
  }

  // Of a sum of which one part is known before the loop: as a pointer from there, since LLVM's addressing of loops
  // leaves integers as they are. Then pointers that move alike are counted by one counter. Else null.
  Value* ByDistance(const Instruction& access, const Value& pointer, const Region& region) {
    const auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(&pointer);
    const auto* sum = cast == nullptr ? nullptr : llvm::dyn_cast<llvm::BinaryOperator>(cast->getOperand(0));
    if (sum == nullptr || sum->getOpcode() != Instruction::Add || !sum->getType()->isIntegerTy(64) ||
        !llvm::is_contained(llvm::successors(access.getParent()), access.getParent()))
      return nullptr;
    for (unsigned i = 0; i < 2; ++i) {
      const auto* start = llvm::dyn_cast<Instruction>(sum->getOperand(i));
      const auto* distance = llvm::dyn_cast<llvm::PHINode>(sum->getOperand(1 - i));
      if (distance == nullptr || distance->getParent() != access.getParent() ||
          (start != nullptr && start->getParent() == access.getParent()) ||
          llvm::isa<llvm::Constant>(sum->getOperand(i)))
        continue;
      Value* from = Made(sum->getOperand(i));
      if (region.base != nullptr) from = builder_.CreateAdd(from, region.base);
      return builder_.CreatePtrAdd(builder_.CreateIntToPtr(from, builder_.getPtrTy()), Made(sum->getOperand(1 - i)));
    }
    return nullptr;
  }

  void CopyAccess(const Instruction& instruction) {
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    const Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
    llvm::Type* type = llvm::getLoadStoreType(const_cast<Instruction*>(&instruction));
    const uint64_t bytes = emitter_.module().module.getDataLayout().getTypeStoreSize(type);
    const Region region = RegionOfAccess(instruction);
    AddressCheck check(emitter_, region, instruction);
    Value* address = AddressAt(pointer, region, 0);
    if (!check.is_off()) {
      Value* holds = Holds(check, instruction, region, address, bytes);
      if (holds != builder_.getTrue()) check.RequireOfLane(holds, lane_, address, bytes);
    }
    Value* at = ByDistance(instruction, *pointer, region);
    if (at == nullptr) at = builder_.CreateIntToPtr(address, builder_.getPtrTy());
    if (store != nullptr) {
      builder_.CreateAlignedStore(Made(const_cast<Value*>(store->getValueOperand())), at, llvm::Align(1));
      return;
    }
    llvm::LoadInst* load = builder_.CreateAlignedLoad(type, at, llvm::Align(1));
    if (region.spaces == guest_runtime::kParams)
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(builder_.getContext(), {}));
    made_[&instruction] = load;
  }

  // The same for all lanes.
  bool IsUniform(const Value* value, unsigned depth = 0) const {
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(value))
      return emitter_.shape(call_.getArgOperand(argument->getArgNo())).is_uniform();
    const auto* instruction = llvm::dyn_cast<Instruction>(value);
    if (instruction == nullptr) return true;
    return depth < kMostDepth && !llvm::isa<llvm::PHINode>(instruction) && !instruction->mayReadOrWriteMemory() &&
           llvm::all_of(
               instruction->operands(), [&](const llvm::Use& operand) { return IsUniform(operand, depth + 1); });
  }

  // An address of a table's element: what is the same for all lanes, plus an index times 2^scale.
  struct Element {
    llvm::SmallVector<const Value*, 4> bases;
    const Value* index = nullptr;
    uint64_t scale_log2 = 0;
  };
  bool AddTerm(const Value* value, Element& element) const {
    if (IsUniform(value)) {
      element.bases.push_back(value);
      return element.bases.size() <= kMostBases;  // sums of sums of one value have twice as many in each
    }
    const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(value);
    if (operation != nullptr && operation->getOpcode() == Instruction::Add)
      return AddTerm(operation->getOperand(0), element) && AddTerm(operation->getOperand(1), element);
    if (element.index != nullptr) return false;
    element.index = value;
    if (operation == nullptr || operation->getOpcode() != Instruction::Shl) return true;
    const auto* by = llvm::dyn_cast<llvm::ConstantInt>(operation->getOperand(1));
    if (by == nullptr || by->getZExtValue() > kMostScale) return true;
    element.index = operation->getOperand(0);
    element.scale_log2 = by->getZExtValue();
    return true;
  }

  // i1: the element is where it most likely is; null if the address is of no table. The bound of the index is known
  // before the lanes' loop, so that the address itself is only needed by the access.
  Value* HoldsByIndex(AddressCheck& check, const Instruction& instruction, const Region& region, uint64_t bytes) {
    const auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(llvm::getLoadStorePointerOperand(&instruction));
    Element element;
    if (cast == nullptr || !cast->getOperand(0)->getType()->isIntegerTy(64) || !AddTerm(cast->getOperand(0), element) ||
        element.index == nullptr || element.bases.empty() || element.scale_log2 < AccessAlignLog2(instruction))
      return nullptr;
    Value* base = region.base != nullptr ? region.base : builder_.getInt64(0);
    for (const Value* term : element.bases) base = builder_.CreateAdd(base, Made(const_cast<Value*>(term)));
    return builder_.CreateICmpULT(Made(const_cast<Value*>(element.index)),
                                  check.ElementsFrom(base, bytes, element.scale_log2));
  }

  // i1: the access, or all that its span reaches, is where it most likely is.
  Value* Holds(AddressCheck& check, const Instruction& instruction, const Region& region, Value* address,
               uint64_t bytes) {
    Span* span = spans_.Of(instruction);
    // In all rounds of a loop: of single accesses, too.
    if (span != nullptr && span->holds == builder_.getTrue() && CanBeCheckedAtOnce(*span, region)) return span->holds;
    if (span == nullptr || !IsCheckedBySpan(*span, region)) {
      if (Value* holds = HoldsByIndex(check, instruction, region, bytes)) return holds;
      return check.Covers(address, bytes, AccessAlignLog2(instruction));
    }
    if (span->holds == nullptr) span->holds = SpanHolds(instruction, region);
    return span->holds;
  }

  FunctionEmitter& emitter_;
  llvm::IRBuilder<>& builder_;
  const llvm::CallInst& call_;
  llvm::Function& function_;
  PathFacts facts_;
  Spans spans_;
  Value* lane_ = nullptr;  // i32
  Value* returned_ = nullptr;
  llvm::DenseMap<const Value*, Value*> made_;
  llvm::DenseMap<const BasicBlock*, BasicBlock*> starts_, ends_;
  std::map<const BasicBlock*, Unchecked> unchecked_;
  std::map<const BasicBlock*, Counted> counted_;
  llvm::SmallVector<std::pair<const llvm::PHINode*, llvm::PHINode*>, 8> phis_;
};

}  // namespace

void EmitLaneCall(FunctionEmitter& emitter, const llvm::CallInst& call) { LaneCall(emitter, call).Emit(); }

}  // namespace tutti::compiler
