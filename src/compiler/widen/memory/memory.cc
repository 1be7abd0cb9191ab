// Picks the form of a load or store by the shape of its address, from the cheapest (memory.h lists them).
//
// Forms that touch memory for many lanes at once are right only under conditions that are known at run time: no index
// has wrapped (Values::Assumption) and the whole range lies in the client's memory (AddressCheck). So an access in
// pieces is emitted as `holds ? pieces : each lane by itself`, the latter a call out of line (rare_access.h), which
// checks every lane exactly. PiecesHold collects the conditions. A gather or scatter needs no second form, only its
// check: skipped if a span covers it (RequireLanes), a comparison of the indices if the addresses have one base
// (RequireIndexed).
//
// Only active lanes may touch memory. Stores are masked (before AVX-512: plain where all lanes are active, else a call,
// EmitPartialStore). Loads in pieces are not, where the whole range has been checked (Pieces::is_readable): reading for
// inactive lanes is harmless there, and a masked load costs twice a plain one.
#include "compiler/widen/memory/memory.h"

#include <llvm/IR/Constants.h>

#include "compiler/widen/emit/function_emitter.h"
#include "compiler/widen/memory/address_check.h"
#include "compiler/widen/memory/gather.h"
#include "compiler/widen/memory/pieces.h"
#include "compiler/widen/memory/rare_access.h"
#include "compiler/widen/memory/stretches.h"
#include "compiler/widen/memory/whole.h"

namespace tutti::compiler {
namespace {

using llvm::Value;

// Components of a lane, next to each other, that one element of a gather or scatter holds.
unsigned ComponentsOfWord(unsigned components, uint64_t element_bytes) {
  unsigned count = 1;
  while (components % (2 * count) == 0 && 2 * count * element_bytes <= 8) count *= 2;
  return count;
}

constexpr unsigned kMostRuns = 4;  // to check by scalars, where the access needs a vector of addresses anyway

// What loads and stores have in common.
class MemoryAccess {
 public:
  // `row`: which the access is of, as a whole; null: it is of itself alone.
  MemoryAccess(FunctionEmitter& emitter, const llvm::Instruction& instruction, const Value* pointer, llvm::Type* type,
               bool simple, const Row* row = nullptr)
      : emitter_(emitter),
        builder_(emitter.builder()),
        values_(emitter.values()),
        instruction_(instruction),
        pointer_(pointer),
        type_(type),
        shape_(emitter.shape(pointer)),
        components_(Values::ComponentCount(type)),
        element_(Values::Component(type, 0)),
        element_bytes_(emitter.module().module.getDataLayout().getTypeStoreSize(element_)),
        per_word_(ComponentsOfWord(components_, element_bytes_)),
        word_(per_word_ == 1 ? element_ : builder_.getIntNTy(static_cast<unsigned>(8 * per_word_ * element_bytes_))),
        simple_(simple),
        row_(row),
        region_(RegionOf(emitter, instruction, pointer, bytes())),
        check_(emitter, region_, instruction) {
    if (llvm::isa<llvm::StoreInst>(instruction)) OnlyWritable(region_);
  }

  bool IsSupported() const {
    if (type_->isStructTy() || !Values::IsSupported(type_)) return false;
    const uint64_t bits = element_->getPrimitiveSizeInBits().getFixedValue();
    return bits == 8 || bits == 16 || bits == 32 || bits == 64 || (bits == 128 && shape_.is_uniform());
  }

  void Load() {
    const auto& load = llvm::cast<llvm::LoadInst>(instruction_);
    const Shape& result = emitter_.shape(&load);
    if (result.is_runs()) return emitter_.Define(load, LoadRuns(load, result));
    CompilerBarrier();
    llvm::SmallVector<Value*, 4> components;
    if (is_whole()) {
      components = LoadWhole(emitter_, type_, CheckedLanes());
    } else if (!LoadVectors(components)) {
      if (LanesArePieces(emitter_.is_full() || IsReadable())) {
        const Pieces pieces = MakePieces(1);
        components = LoadIf(PiecesHold(pieces), [&] { return LoadPieces(emitter_, pieces); });
      } else {
        components = Gather(LanesHold());
      }
    }
    CompilerBarrier();
    emitter_.Define(load, components);
  }

  // False: the row cannot be loaded by vectors of memory.
  bool LoadRow() {
    llvm::SmallVector<Value*, 4> elements;
    if (!LoadVectors(elements)) return false;
    for (const Row::Member& member : row_->members) {
      llvm::Type* wide = Values::Wide(Values::Component(member.access->getType(), 0));
      emitter_.Define(*member.access, builder_.CreateBitCast(elements[member.element], wide));
    }
    return true;
  }

  void StoreRow() {
    llvm::SmallVector<Value*, 4> elements(row_->elements);
    for (const Row::Member& member : row_->members) {
      Value* stored = values_.Vector(llvm::cast<llvm::StoreInst>(member.access)->getValueOperand());
      elements[member.element] = builder_.CreateBitCast(stored, Values::Wide(element_));
    }
    StoreInPieces(MakePieces(PieceLanes(shape_, components_, element_bytes_)), elements);
  }

  void Store() {
    const auto& store = llvm::cast<llvm::StoreInst>(instruction_);
    if (shape_.is_uniform()) return StoreUniform(store);
    CompilerBarrier();
    llvm::SmallVector<Value*, 4> components;
    for (unsigned c = 0; c < components_; ++c) components.push_back(values_.Vector(store.getValueOperand(), c));
    if (is_whole()) {
      StoreWhole(emitter_, components, CheckedLanes());
    } else if (const unsigned lanes = StoredPieceLanes()) {
      StoreInPieces(MakePieces(lanes), components);
    } else {
      Scatter(components, LanesHold());
    }
    CompilerBarrier();
    if (store.isAtomic() && store.getOrdering() == llvm::AtomicOrdering::SequentiallyConsistent)
      builder_.CreateFence(store.getOrdering());
  }

 private:
  // By vectors of the memory from the first lane to the last; false if there is no such way.
  bool LoadVectors(llvm::SmallVector<Value*, 4>& components) {
    if (const unsigned lanes = PieceLanes(shape_, components_, element_bytes_)) {
      const Pieces pieces = MakePieces(lanes);
      components = LoadIf(PiecesHold(pieces), [&] { return LoadPieces(emitter_, pieces); });
      return true;
    }
    const auto stretches = Stretches();
    if (stretches.empty()) return false;
    const llvm::SmallVector<Value*, 4> addresses = StretchAddresses(stretches);
    components = LoadIf(StretchesHold(stretches, addresses),
                        [&] { return LoadStretches(emitter_, shape_, stretches, addresses, element_, components_); });
    return true;
  }

  void StoreInPieces(const Pieces& pieces, llvm::ArrayRef<Value*> components) {
    Value* holds = PiecesHold(pieces);
    const auto in_pieces = [&]() -> Value* {
      StorePieces(emitter_, pieces, components);
      return nullptr;
    };
    if (holds == nullptr) {
      in_pieces();
    } else {
      emitter_.Choose(holds, in_pieces, [&]() -> Value* {
        StoreRarely(components);
        return nullptr;
      });
    }
  }

  uint64_t bytes() const { return components_ * element_bytes_; }

  // Pieces of one lane are not masked: all lanes must be active, or, for loads, all that lies there readable.
  bool LanesArePieces(bool unmasked) {
    return unmasked && LanesCanBePieces(shape_, components_, element_bytes_) &&
           (check_.is_off() || check_.SpanHolds() != nullptr);
  }
  unsigned StoredPieceLanes() {
    const unsigned lanes = PieceLanes(shape_, components_, element_bytes_);
    return lanes == 0 && LanesArePieces(emitter_.is_full()) ? 1 : lanes;
  }
  // Masked loads cost twice as much as plain ones. But the proof of a safe access covers active lanes only.
  bool IsReadable() const { return emitter_.module().options.whole_pieces && !region_.is_safe; }

  // Each lane's vector must be a single access: other threads may watch.
  bool is_whole() const { return !simple_ && type_->isVectorTy(); }

  // Vector accesses cannot be volatile or atomic; this fence gives them the ordering that those imply for the compiler.
  void CompilerBarrier() {
    if (!simple_) builder_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent, llvm::SyncScope::SingleThread);
  }

  Value* Based(Value* address) { return region_.base != nullptr ? builder_.CreateAdd(address, region_.base) : address; }
  Value* BasedVector() {
    Value* address = values_.Vector(pointer_);
    return region_.base != nullptr ? builder_.CreateAdd(address, builder_.CreateVectorSplat(kLanes, region_.base))
                                   : address;
  }

  template <typename Memory>
  void CopyOrder(Memory* made, const Memory& old) {
    made->setVolatile(old.isVolatile());
    if (!old.isAtomic()) return;
    made->setAtomic(old.getOrdering(), llvm::SyncScope::System);
    made->setAlignment(llvm::Align(bytes()));
  }

  llvm::SmallVector<Value*, 4> LoadRuns(const llvm::LoadInst& load, const Shape& result) {
    // Parameters are loaded before the warps run, whether or not all of them get here.
    if (region_.is_safe && region_.spaces == guest_runtime::kParams && simple_) {
      if (auto* offset = llvm::dyn_cast<llvm::Constant>(values_.InRun(pointer_, kLanes, 0)))
        return {emitter_.abi().Parameter(offset, Values::Scalar(type_))};
    }
    llvm::SmallVector<Value*, 4> addresses, loaded;
    for (unsigned r = 0; r < result.run_count(); ++r)
      addresses.push_back(Based(values_.InRun(pointer_, result.run(), r)));
    if (addresses.size() > 1 && !emitter_.is_full()) ReplaceInactive(addresses, result.run());
    check_.RequireScalars(addresses, bytes());
    for (Value* address : addresses) {
      llvm::LoadInst* made = builder_.CreateAlignedLoad(
          Values::Scalar(type_), builder_.CreateIntToPtr(address, builder_.getPtrTy()), llvm::Align(1));
      CopyOrder(made, load);
      if (!check_.is_off()) MarkForAnyone(*made);
      if (region_.spaces == guest_runtime::kParams)
        made->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(builder_.getContext(), {}));
      loaded.push_back(made);
    }
    return loaded;
  }

  // A run without active lanes has no valid address: it reads where an active one reads.
  void ReplaceInactive(llvm::SmallVector<Value*, 4>& addresses, unsigned run) {
    llvm::SmallVector<Value*, 4> active;
    for (unsigned r = 0; r < addresses.size(); ++r) {
      Value* lanes = builder_.CreateAnd(emitter_.mask_bits(), builder_.getInt32(((1u << run) - 1) << (r * run)));
      active.push_back(builder_.CreateICmpNE(lanes, builder_.getInt32(0)));
    }
    Value* good = addresses.back();
    for (unsigned r = static_cast<unsigned>(addresses.size()) - 1; r-- > 0;)
      good = builder_.CreateSelect(active[r], addresses[r], good);
    for (unsigned r = 0; r < addresses.size(); ++r) addresses[r] = builder_.CreateSelect(active[r], addresses[r], good);
  }

  void StoreUniform(const llvm::StoreInst& store) {
    Value* address = Based(values_.Uniform(pointer_));
    const Value* old = store.getValueOperand();
    Value* value;
    if (emitter_.shape(old).is_uniform()) {
      value = values_.Uniform(old);
    } else {
      Value* last = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, emitter_.mask_bits(), builder_.getTrue());
      last = builder_.CreateSub(builder_.getInt32(31), last);
      llvm::SmallVector<Value*, 4> elements;
      for (unsigned c = 0; c < components_; ++c)
        elements.push_back(builder_.CreateExtractElement(values_.Vector(old, c), last));
      value = elements[0];
      if (type_->isVectorTy()) {
        value = llvm::PoisonValue::get(type_);
        for (unsigned c = 0; c < components_; ++c) value = builder_.CreateInsertElement(value, elements[c], c);
      }
    }
    check_.RequireScalars(address, bytes());
    llvm::StoreInst* made =
        builder_.CreateAlignedStore(value, builder_.CreateIntToPtr(address, builder_.getPtrTy()), llvm::Align(1));
    CopyOrder(made, store);
  }

  Pieces MakePieces(unsigned lanes) {
    Pieces pieces;
    pieces.lanes = lanes;
    pieces.components = components_;
    pieces.element = element_;
    pieces.element_bytes = element_bytes_;
    pieces.is_readable = IsReadable();
    pieces.is_for_anyone = pieces.is_readable && !check_.is_off();
    // Before AVX-512 bytes and halves cannot be masked.
    const bool is_masked = writes() || !pieces.is_readable;
    pieces.is_by_all = emitter_.is_full() || (is_masked && !emitter_.module().options.avx512 && element_bytes_ < 4);
    llvm::DenseMap<std::pair<Value*, int64_t>, Value*> made;
    for (unsigned p = 0; p < pieces.count(); ++p) {
      Value* base = values_.Base(pointer_, lanes, p);
      const int64_t offset = shape_.offset(p * lanes);
      Value*& address = made[{base, offset}];
      if (address == nullptr)
        address = Based(builder_.CreateAdd(base, builder_.getInt64(static_cast<uint64_t>(offset))));
      pieces.addresses.push_back(address);
    }
    return pieces;
  }

  // Of two conditions, of which that which always holds is null.
  Value* Both(Value* one, Value* other) {
    return one == nullptr ? other : other == nullptr ? one : builder_.CreateAnd(one, other);
  }

  // i1: the access may be made in pieces; null: unconditionally.
  Value* PiecesHold(const Pieces& pieces) {
    Value* span_holds = check_.SpanHolds();
    Value* holds = Both(check_.AssumptionBeside(span_holds, pointer_), span_holds);
    if (span_holds == nullptr && !check_.is_off()) {
      for (Value* address : pieces.addresses)
        holds = Both(holds, check_.Covers(address, pieces.lanes * bytes(), AccessAlignLog2(instruction_)));
    }
    return pieces.is_by_all && !emitter_.is_full() ? Both(holds, emitter_.RunsAll()) : holds;
  }

  llvm::SmallVector<Stretch, 4> Stretches() const {
    // A local array was written by its lanes' scatters, which a vector would have to wait for.
    if (region_.spaces == guest_runtime::kLocal || !emitter_.module().options.whole_pieces) return {};
    return FindStretches(shape_, components_, element_bytes_, uint64_t{1} << AccessAlignLog2(instruction_));
  }

  llvm::SmallVector<Value*, 4> StretchAddresses(llvm::ArrayRef<Stretch> stretches) {
    llvm::SmallVector<Value*, 4> addresses;
    for (unsigned r = 0; r < stretches.size(); ++r) {
      Value* base = values_.Base(pointer_, shape_.run(), r);
      addresses.push_back(
          Based(builder_.CreateAdd(base, llvm::ConstantInt::getSigned(base->getType(), stretches[r].low))));
    }
    return addresses;
  }

  // i1: the lanes are where their shape says, and all that lies between them may be read; null: unconditionally.
  Value* StretchesHold(llvm::ArrayRef<Stretch> stretches, llvm::ArrayRef<Value*> addresses) {
    Value* span_holds = check_.SpanHolds(kMostRuns);
    Value* holds = Both(check_.AssumptionBeside(span_holds, pointer_), span_holds);
    // The proof of a safe access covers active lanes only.
    const bool is_proved = check_.is_off() && emitter_.is_full();
    if (span_holds != nullptr || is_proved) return holds;
    for (unsigned r = 0; r < stretches.size(); ++r) {
      const uint64_t stretch_bytes = stretches[r].elements * element_bytes_;
      holds = Both(holds, check_.Contains(addresses[r], stretch_bytes, AccessAlignLog2(instruction_)));
    }
    return holds;
  }

  // What `load` makes if `holds`, or always if that is null; else each lane's.
  llvm::SmallVector<Value*, 4> LoadIf(Value* holds, llvm::function_ref<llvm::SmallVector<Value*, 4>()> load) {
    if (holds == nullptr) return load();
    // Choose() joins one value; several components are packed into a struct, which SROA dissolves.
    const auto packed = [&](llvm::ArrayRef<Value*> components) {
      if (components.size() == 1) return components[0];
      llvm::SmallVector<llvm::Type*, 4> types(components.size(), components[0]->getType());
      Value* all = llvm::PoisonValue::get(llvm::StructType::get(builder_.getContext(), types));
      for (unsigned c = 0; c < components.size(); ++c) all = builder_.CreateInsertValue(all, components[c], c);
      return all;
    };
    Value* either = emitter_.Choose(holds, [&] { return packed(load()); }, [&] { return packed(LoadRarely()); });
    llvm::SmallVector<Value*, 4> components;
    for (unsigned c = 0; c < components_; ++c)
      components.push_back(components_ == 1 ? either : builder_.CreateExtractValue(either, c));
    return components;
  }

  unsigned words() const { return components_ / per_word_; }
  uint64_t word_bytes() const { return per_word_ * element_bytes_; }
  Value* WordAddress(Value* addresses, unsigned word) {
    if (word == 0) return addresses;
    return builder_.CreateAdd(addresses, llvm::ConstantInt::get(addresses->getType(), word * word_bytes()));
  }
  llvm::SmallVector<Value*, 4> FromWords(llvm::ArrayRef<Value*> loaded) {
    llvm::SmallVector<Value*, 4> components;
    for (Value* word : loaded) {
      auto* parts = llvm::FixedVectorType::get(element_, kLanes * per_word_);
      components.append(Deinterleave(builder_, builder_.CreateBitCast(word, parts), per_word_));
    }
    return components;
  }
  llvm::SmallVector<Value*, 4> ToWords(llvm::ArrayRef<Value*> components) {
    llvm::SmallVector<Value*, 4> made;
    for (unsigned w = 0; w < words(); ++w) {
      Value* interleaved = Interleave(builder_, components.slice(w * per_word_, per_word_));
      made.push_back(builder_.CreateBitCast(interleaved, Values::Wide(word_)));
    }
    return made;
  }

  bool writes() const { return llvm::isa<llvm::StoreInst>(instruction_); }
  // The processor has a form of the access for base and index.
  bool CanUse(const IndexedAddress& address) const {
    return CanIndex(emitter_, word_, address, writes()) && (word_bytes() >= 4 || is_aligned());
  }
  // Each word is at a multiple of its size.
  bool is_aligned() const { return uint64_t{1} << AccessAlignLog2(instruction_) >= word_bytes(); }

  // Checks the address of each lane. Returns base and index if the access can use them.
  std::optional<IndexedAddress> RequireIndexed(Value* holds) {
    if (auto apart = FindConstantDistances(emitter_, pointer_)) {
      apart->base = Based(apart->base);
      if (CanUse(*apart)) {
        RequireLanes(holds);
        return apart;
      }
    }
    if (!shape_.is_varying()) return std::nullopt;
    auto indexed = FindIndexedAddress(emitter_, pointer_);
    if (!indexed || !CanUse(*indexed)) return std::nullopt;
    indexed->base = Based(indexed->base);
    const auto require = [&] { check_.RequireIndexed(*indexed, bytes(), [&] { return BasedVector(); }); };
    if (holds == nullptr) {
      require();
    } else {
      emitter_.Unless(holds, require);
    }
    return indexed;
  }

  // i1: all that the span of the access reaches may be accessed; null if that is not known at less cost than by each
  // access for itself.
  Value* LanesHold() { return shape_.is_varying() ? check_.SpanHoldsForActive() : check_.SpanHolds(kMostRuns); }

  // Checks the address of each lane, unless `holds`: then by a call, since what is cold costs time to compile.
  void RequireLanes(Value* holds) {
    if (holds == nullptr) return check_.RequireLanes(BasedVector(), bytes());
    emitter_.Unless(holds, [&] { EmitRareCheck(emitter_, pointer_, region_, check_, bytes()); });
  }

  llvm::SmallVector<Value*, 4> LoadRarely() {
    if (check_.is_off()) return Gather();
    if (row_ != nullptr) return EmitRareRowLoad(emitter_, *row_, region_, element_);
    return FromWords(EmitRareLoad(emitter_, pointer_, region_, check_, word_, words()));
  }
  void StoreRarely(llvm::ArrayRef<Value*> components) {
    if (check_.is_off()) return Scatter(components);
    if (row_ != nullptr) return EmitRareRowStore(emitter_, *row_, region_, components);
    EmitRareStore(emitter_, pointer_, region_, check_, ToWords(components));
  }

  llvm::SmallVector<Value*, 4> Gather(Value* holds = nullptr) {
    llvm::SmallVector<Value*, 4> loaded;
    if (const auto indexed = RequireIndexed(holds)) {
      for (unsigned w = 0; w < words(); ++w) loaded.push_back(EmitGather(emitter_, word_, *indexed, w * word_bytes()));
    } else {
      RequireLanes(holds);
      Value* addresses = BasedVector();
      for (unsigned w = 0; w < words(); ++w)
        loaded.push_back(EmitGather(emitter_, word_, WordAddress(addresses, w), is_aligned()));
    }
    return FromWords(loaded);
  }

  void Scatter(llvm::ArrayRef<Value*> components, Value* holds = nullptr) {
    const auto stored = ToWords(components);
    if (const auto indexed = RequireIndexed(holds)) {
      for (unsigned w = 0; w < words(); ++w) EmitScatter(emitter_, stored[w], *indexed, w * word_bytes());
      return;
    }
    RequireLanes(holds);
    Value* addresses = BasedVector();
    for (unsigned w = 0; w < words(); ++w) EmitScatter(emitter_, stored[w], WordAddress(addresses, w));
  }

  // The addresses of the lanes, checked.
  Value* CheckedLanes() {
    Value* addresses = BasedVector();
    check_.RequireLanes(addresses, bytes());
    return addresses;
  }

  FunctionEmitter& emitter_;
  llvm::IRBuilder<>& builder_;
  Values& values_;
  const llvm::Instruction& instruction_;
  const Value* pointer_;
  llvm::Type* type_;
  const Shape& shape_;
  unsigned components_;
  llvm::Type* element_;
  uint64_t element_bytes_;
  unsigned per_word_;  // components that are gathered and scattered as one element, a word
  llvm::Type* word_;
  bool simple_;
  const Row* row_;
  Region region_;
  AddressCheck check_;
};

// What each lane has of it.
llvm::Type* RowType(const Row& row) {
  auto* access = const_cast<llvm::Instruction*>(row.members.front().access);
  return llvm::FixedVectorType::get(Values::Scalar(llvm::getLoadStoreType(access)), row.elements);
}

}  // namespace

void EmitLoad(FunctionEmitter& emitter, const llvm::LoadInst& load) {
  if (const Row* row = emitter.rows().Of(load)) {
    if (emitter.values().IsDefined(&load)) return;  // with the first of its row
    if (&load == row->lead()) {
      MemoryAccess access(emitter, load, row->low, RowType(*row), true, row);
      if (access.IsSupported() && access.LoadRow()) return;
    }
  }
  MemoryAccess access(emitter, load, load.getPointerOperand(), load.getType(), load.isSimple());
  if (!access.IsSupported()) return emitter.Unsupported(load, "no access of this type is known");
  access.Load();
}

void EmitStore(FunctionEmitter& emitter, const llvm::StoreInst& store) {
  if (const Row* row = emitter.rows().Of(store)) {
    if (&store == row->lead()) MemoryAccess(emitter, store, row->low, RowType(*row), true, row).StoreRow();
    return;  // else with the last of its row
  }
  MemoryAccess access(emitter, store, store.getPointerOperand(), store.getValueOperand()->getType(), store.isSimple());
  if (!access.IsSupported()) return emitter.Unsupported(store, "no access of this type is known");
  access.Store();
}

}  // namespace tutti::compiler
