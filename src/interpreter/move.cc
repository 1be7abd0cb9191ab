// mov, and addresses from space to space.
#include "interpreter/families.h"

namespace tutti::interpreter {

// Between a vector and a scalar the elements lie in the scalar from its low end; "_" takes part by its width.
void Move(Step& step) {
  const Operand& to = step.in.operands[0];
  const Operand& from = step.in.operands[1];
  const Type type = step.type();
  const auto targets = step.Elements(to), sources = step.Elements(from);
  if (to.kind == OperandKind::kVector && from.kind == OperandKind::kVector) {
    std::vector<Bits> values;
    for (const Operand& source : sources) values.push_back(step.Wide(source, type));
    for (size_t i = 0; i < targets.size(); ++i) step.PutWide(targets[i], values[i]);
    return;
  }
  if (type == Type::kPred) return step.Put(0, type, step.Predicate(1));
  const uint32_t bits = ptx::BitsOf(type);
  Bits value = 0;
  if (from.kind == OperandKind::kVector) {
    const uint32_t part = bits / static_cast<uint32_t>(sources.size());
    for (size_t i = 0; i < sources.size(); ++i) {
      const Bits mask = (Bits{1} << part) - 1;
      value |= (step.Wide(sources[i], type) & mask) << (part * i);
    }
  } else {
    value = step.Wide(from, type);
  }
  if (to.kind != OperandKind::kVector) return step.PutWide(to, bits >= 128 ? value : value & ((Bits{1} << bits) - 1));
  const uint32_t part = bits / static_cast<uint32_t>(targets.size());
  for (size_t i = 0; i < targets.size(); ++i) step.PutWide(targets[i], value >> (part * i) & ((Bits{1} << part) - 1));
}

namespace {

uint64_t WindowOf(const Step& step, StateSpace space) {
  switch (space) {
    case StateSpace::kShared:
    case StateSpace::kSharedCluster: return step.SharedWindow();
    case StateSpace::kLocal: return kLocalWindow;
    case StateSpace::kParam: return kParamWindow;
    default: return 0;
  }
}

}  // namespace

void ConvertAddress(Step& step) {
  const Operand& from = step.in.operands[1];
  const bool to_space = step.Has(Modifier::kTo);
  StateSpace space = step.in.space;
  // What a function takes by value lies in its thread's local memory.
  if (space == StateSpace::kParam && !step.function().is_entry) space = StateSpace::kLocal;
  const uint64_t address = from.kind == OperandKind::kRegister ? step.Get(1, step.type()) : step.AddressOf(from);
  if (to_space && space == StateSpace::kSharedCluster) {
    const uint64_t place = (address - kSharedWindow) % kWindowBytes, owner = (address - kSharedWindow) / kWindowBytes;
    return step.Put(0, step.type(), place >> kSlotShift != 0 ? place : step.PlaceInBlock(place, owner));
  }
  const uint64_t window = WindowOf(step, space);
  const bool narrow = space == StateSpace::kShared || space == StateSpace::kSharedCluster;
  const uint64_t place = address - window;
  step.Put(0, step.type(), to_space ? (narrow ? place & 0xffffffff : place) : address + window);
}

void IsInSpace(Step& step) {
  const uint64_t address = step.Get(1, Type::kU64);
  const bool shared = step.IsInShared(address, true), local = InWindow(kLocalWindow, address),
             param = InWindow(kParamWindow, address);
  bool inside = false;
  switch (step.in.space) {
    case StateSpace::kShared: inside = step.IsInShared(address, false); break;
    case StateSpace::kSharedCluster: inside = shared; break;
    case StateSpace::kLocal: inside = local; break;
    case StateSpace::kParam: inside = param; break;
    case StateSpace::kGlobal: inside = !shared && !local && !param; break;
    default: step.Refuse("a space that addresses do not tell"); break;
  }
  step.Put(0, Type::kPred, inside);
}

// The same place in another block's shared memory: an illegal address if there is no such block. In a cluster of one
// block that is the block's own.
void MapToBlock(Step& step) {
  const uint64_t rank = step.Get(2, Type::kU32);
  if (rank >= step.blocks() && (step.blocks() == 1 || rank >= 16))
    return step.Refuse("a block that the cluster has not");
  const Operand& from = step.in.operands[1];
  const uint64_t address = from.kind == OperandKind::kRegister ? step.Get(1, step.type()) : step.AddressOf(from);
  const uint64_t window = step.in.space == StateSpace::kSharedCluster ? 0 : step.SharedWindow();
  step.Put(0, step.type(), window + step.PlaceInBlock(address - window, rank));
}

void RankOfBlock(Step& step) {
  const Operand& from = step.in.operands[1];
  const uint64_t address = from.kind == OperandKind::kRegister ? step.Get(1, step.type()) : step.AddressOf(from);
  const bool narrow = step.in.space == StateSpace::kSharedCluster;
  const uint64_t place = narrow ? address : (address - kSharedWindow) % kWindowBytes;
  const uint64_t owner = narrow ? step.block.rank : (address - kSharedWindow) / kWindowBytes;
  step.Put(0, Type::kU32, place >> kSlotShift != 0 ? (place >> kSlotShift) - 1 : owner);
}

// Opaque, and good for hints only.
void MakePolicy(Step& step) {
  for (const Modifier modifier : step.in.modifiers) step.Has(modifier);
  step.Put(0, Type::kB64, 0);
}

}  // namespace tutti::interpreter
