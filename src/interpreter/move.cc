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

uint64_t WindowOf(StateSpace space) {
  switch (space) {
    case StateSpace::kShared:
    case StateSpace::kSharedCluster: return kSharedWindow;
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
  step.Put(0, step.type(), to_space ? address - WindowOf(space) : address + WindowOf(space));
}

void IsInSpace(Step& step) {
  const uint64_t address = step.Get(1, Type::kU64);
  const bool shared = InWindow(kSharedWindow, address), local = InWindow(kLocalWindow, address),
             param = InWindow(kParamWindow, address);
  bool inside = false;
  switch (step.in.space) {
    case StateSpace::kShared:
    case StateSpace::kSharedCluster: inside = shared; break;
    case StateSpace::kLocal: inside = local; break;
    case StateSpace::kParam: inside = param; break;
    case StateSpace::kGlobal: inside = !shared && !local && !param; break;
    default: step.Refuse("a space that addresses do not tell"); break;
  }
  step.Put(0, Type::kPred, inside);
}

// Clusters are of one block, of rank 0: its own addresses are those of the cluster.
void MapToBlock(Step& step) {
  if (step.Get(2, Type::kU32) != 0) return step.Refuse("a block that the cluster has not");
  const Operand& from = step.in.operands[1];
  step.Put(0, step.type(), from.kind == OperandKind::kRegister ? step.Get(1, step.type()) : step.AddressOf(from));
}

void RankOfBlock(Step& step) { step.Put(0, Type::kU32, 0); }

// Opaque, and good for hints only.
void MakePolicy(Step& step) {
  for (const Modifier modifier : step.in.modifiers) step.Has(modifier);
  step.Put(0, Type::kB64, 0);
}

}  // namespace tutti::interpreter
