#include "interpreter/step.h"

#include <bit>
#include <cstring>

#include "cuda/result.h"

namespace tutti::interpreter {
namespace {

using ptx::BaseKind;
using ptx::SpecialRegister;

// A literal as a value of `type`: PTX writes floats as f64 (or 0f) whatever they are for.
uint64_t Literal(const Operand& operand, Type type) {
  if (!operand.is_float) return operand.bits;
  const double value = operand.is_f32 ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(operand.bits)))
                                      : std::bit_cast<double>(operand.bits);
  if (ptx::BitsOf(type) == 64) return operand.is_f32 ? std::bit_cast<uint64_t>(value) : operand.bits;
  return operand.is_f32 ? operand.bits : std::bit_cast<uint32_t>(static_cast<float>(value));
}

}  // namespace

std::string Step::Unknown() const {
  for (const Modifier modifier : in.modifiers) {
    if (!known_.test(static_cast<size_t>(modifier))) return std::string(NameOf(modifier));
  }
  return {};
}

void Step::Fault(int error, std::string text) {
  if (!machine.outcome_.fault)
    machine.outcome_.fault = interpreter::Fault{error, thread.index, in.position.line, std::move(text)};
}

void Step::Refuse(std::string text) {
  if (machine.outcome_.refused.empty()) {
    machine.outcome_.refused =
        "line " + std::to_string(in.position.line) + ": " + std::string(NameOf(in.opcode)) + ": " + std::move(text);
  }
}

Bits Step::Wide(const Operand& operand, Type type) {
  switch (operand.kind) {
    case OperandKind::kRegister: {
      const Bits bits = thread.frame().registers[operand.index];
      if (operand.selector != 0) return bits;  // video instructions select themselves
      return bits;
    }
    case OperandKind::kImmediate: return Literal(operand, type);
    case OperandKind::kSpecial: return Special(static_cast<SpecialRegister>(operand.index));
    case OperandKind::kSymbol:
    case OperandKind::kLocal: return AddressOf(operand);
    default: Refuse("an operand that is no value"); return 0;
  }
}

void Step::Put(const Operand& operand, Type type, uint64_t bits) {
  if (operand.kind != OperandKind::kRegister) return;  // "_"
  const uint32_t width = ptx::BitsOf(type);
  PutWide(operand, ptx::IsSigned(type) ? static_cast<Bits>(static_cast<__int128>(SignExtend(bits, width)))
                                       : static_cast<Bits>(LowBits(bits, width)));
}

void Step::PutWide(const Operand& operand, Bits bits) {
  if (operand.kind != OperandKind::kRegister) return;
  const uint32_t width = ptx::BitsOf(function().registers[operand.index].type);
  thread.frame().registers[operand.index] = width >= 128 ? bits : bits & ((Bits{1} << width) - 1);
}

std::span<const Operand> Step::Elements(const Operand& operand) const {
  if (operand.kind != OperandKind::kVector) return {&operand, 1};
  return std::span(function().vector_operands).subspan(operand.index, operand.count);
}

uint64_t Step::AddressOf(const Operand& operand) {
  const auto offset = static_cast<uint64_t>(operand.offset);
  const bool local = operand.kind == OperandKind::kLocal ||
                     (operand.kind == OperandKind::kAddress && operand.base == BaseKind::kLocal);
  if (local) {
    const ptx::LocalVariable& variable = function().locals[operand.index];
    if (variable.space == StateSpace::kShared) return block.shared_offsets[&variable] + offset;
    if (function().is_entry && variable.space == StateSpace::kParam && operand.index >= function().first_param &&
        operand.index - function().first_param < function().prototype.params.size()) {
      return machine.param_offsets_[operand.index - function().first_param] + offset;
    }
    return thread.frame().locals[operand.index] + offset;
  }
  const ptx::Symbol& symbol = module().symbols[operand.index];
  if (symbol.kind == ptx::Symbol::Kind::kFunction) return (uint64_t{1} << 60) + symbol.index;  // only good for calls
  const ptx::Variable& variable = module().variables[symbol.index];
  if (variable.space == StateSpace::kShared) return block.shared_offsets[&variable] + offset;
  return machine.addresses_[operand.index] + offset;
}

StateSpace Step::SpaceOf(const Operand& operand) const {
  if (in.space != StateSpace::kGeneric || operand.base == BaseKind::kNone || operand.base == BaseKind::kRegister)
    return in.space;
  if (operand.base == BaseKind::kLocal) return function().locals[operand.index].space;
  return module().variables[module().symbols[operand.index].index].space;
}

uint64_t Step::Address(const Operand& operand) {
  const auto offset = static_cast<uint64_t>(operand.offset);
  switch (operand.base) {
    case BaseKind::kNone: return operand.kind == OperandKind::kAddress ? offset + operand.bits : offset;
    case BaseKind::kRegister: {
      const uint32_t width = ptx::BitsOf(function().registers[operand.index].type);
      return LowBits(static_cast<uint64_t>(thread.frame().registers[operand.index]), width) + offset;
    }
    default: return AddressOf(operand);
  }
}

uint8_t* Step::Locate(StateSpace space, uint64_t address, uint64_t bytes, uint64_t alignment, const Operand* operand) {
  if (address % alignment != 0) {
    Fault(cuda::CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address");
    return nullptr;
  }
  const uint64_t given = address;
  Block* of = &block;  // whose shared memory a plain offset names
  if (space == StateSpace::kGeneric || space == StateSpace::kGlobal || space == StateSpace::kConst) {
    if (address - kSharedWindow < blocks() * kWindowBytes)
      space = StateSpace::kShared, of = BlockOf((address - kSharedWindow) / kWindowBytes), address -= kSharedWindow;
    else if (InWindow(kLocalWindow, address))
      space = StateSpace::kLocal, address -= kLocalWindow;
    else if (InWindow(kParamWindow, address))
      space = StateSpace::kParam, address -= kParamWindow;
  }
  // A function's parameters lie in its thread's local memory; an entry's are the launch's.
  if (space == StateSpace::kParam) {
    const bool declared = operand != nullptr && operand->base == BaseKind::kLocal;
    const bool of_entry = declared ? operand->index >= function().first_param &&
                                         operand->index - function().first_param < function().prototype.params.size() &&
                                         function().is_entry
                                   : function().is_entry || InWindow(kParamWindow, given);
    if (!of_entry) space = StateSpace::kLocal;
  }
  std::vector<uint8_t>* window = nullptr;
  // Addresses of these are of 32 bits, whatever they were computed in.
  if (space == StateSpace::kShared || space == StateSpace::kSharedCluster) {
    address &= 0xffffffff;
    if (const uint64_t slot = address >> kSlotShift; slot != 0 && blocks() > 1) {
      of = BlockOf(slot - 1);
      address &= (uint64_t{1} << kSlotShift) - 1;
    }
  }
  switch (space) {
    case StateSpace::kShared:
    case StateSpace::kSharedCluster: window = of != nullptr ? &of->shared : nullptr; break;
    case StateSpace::kLocal: window = &thread.local; break;
    case StateSpace::kParam: window = &machine.params_; break;
    default: break;
  }
  uint8_t* found = nullptr;
  if (of == nullptr) {
    // a block that the cluster has not
  } else if (window != nullptr) {
    if (address <= window->size() && bytes <= window->size() - address) found = window->data() + address;
  } else {
    found = machine.global_.Find(address, bytes);
  }
  if (found == nullptr) Fault(cuda::CUDA_ERROR_ILLEGAL_ADDRESS, "illegal address");
  return found;
}

bool Step::IsInShared(uint64_t address, bool cluster) const {
  const uint64_t distance = address - kSharedWindow;
  const Block* const owner = distance < blocks() * kWindowBytes ? BlockOf(distance / kWindowBytes) : nullptr;
  if (owner == nullptr || (!cluster && owner != &block)) return false;
  const uint64_t place = distance % kWindowBytes, slot = place >> kSlotShift;
  const uint64_t bytes = block.shared.size();
  if (slot == 0 || blocks() == 1) return place < bytes;
  return cluster && slot <= blocks() && (place & ((uint64_t{1} << kSlotShift) - 1)) < bytes;
}

std::string Step::Text(uint64_t address) {
  std::string text;
  for (;; ++address) {
    const uint8_t* byte = Locate(StateSpace::kGeneric, address, 1, 1);
    if (byte == nullptr || *byte == 0) return text;
    text += static_cast<char>(*byte);
  }
}

uint64_t Step::Special(SpecialRegister special) {
  const auto at = [&](const std::array<uint32_t, 3>& three, SpecialRegister first) {
    return three[static_cast<size_t>(special) - static_cast<size_t>(first)];
  };
  const uint32_t lane = thread.lane();
  switch (special) {
    case SpecialRegister::kTidX:
    case SpecialRegister::kTidY:
    case SpecialRegister::kTidZ: return at(thread.tid, SpecialRegister::kTidX);
    case SpecialRegister::kNtidX:
    case SpecialRegister::kNtidY:
    case SpecialRegister::kNtidZ: return at(launch().block, SpecialRegister::kNtidX);
    case SpecialRegister::kCtaidX:
    case SpecialRegister::kCtaidY:
    case SpecialRegister::kCtaidZ: return at(block.ctaid, SpecialRegister::kCtaidX);
    case SpecialRegister::kNctaidX:
    case SpecialRegister::kNctaidY:
    case SpecialRegister::kNctaidZ: return at(launch().grid, SpecialRegister::kNctaidX);
    case SpecialRegister::kLaneid: return lane;
    case SpecialRegister::kWarpid: return thread.warp();
    case SpecialRegister::kNwarpid: return (block.threads.size() + kWarpSize - 1) / kWarpSize;
    case SpecialRegister::kSmid: return 0;
    case SpecialRegister::kNsmid:
    case SpecialRegister::kGridid: return 1;
    case SpecialRegister::kLanemaskEq: return 1u << lane;
    case SpecialRegister::kLanemaskLe: return (uint64_t{2} << lane) - 1;
    case SpecialRegister::kLanemaskLt: return (uint64_t{1} << lane) - 1;
    case SpecialRegister::kLanemaskGe: return 0xffffffffu & ~((uint64_t{1} << lane) - 1);
    case SpecialRegister::kLanemaskGt: return 0xffffffffu & ~((uint64_t{2} << lane) - 1);
    case SpecialRegister::kClock:
    case SpecialRegister::kClock64:
    case SpecialRegister::kGlobaltimer:
    case SpecialRegister::kGlobaltimerLo: return machine.steps_;
    case SpecialRegister::kTotalSmemSize:
    case SpecialRegister::kAggrSmemSize: return block.shared.size();
    case SpecialRegister::kDynamicSmemSize: return launch().dynamic_shared_bytes;
    case SpecialRegister::kClusteridX:
    case SpecialRegister::kClusteridY:
    case SpecialRegister::kClusteridZ:
      return at(block.ctaid, SpecialRegister::kClusteridX) / at(launch().cluster, SpecialRegister::kClusteridX);
    case SpecialRegister::kNclusteridX:
    case SpecialRegister::kNclusteridY:
    case SpecialRegister::kNclusteridZ:
      return at(launch().grid, SpecialRegister::kNclusteridX) / at(launch().cluster, SpecialRegister::kNclusteridX);
    case SpecialRegister::kClusterCtaidX:
    case SpecialRegister::kClusterCtaidY:
    case SpecialRegister::kClusterCtaidZ: return at(block.cluster_ctaid, SpecialRegister::kClusterCtaidX);
    case SpecialRegister::kClusterNctaidX:
    case SpecialRegister::kClusterNctaidY:
    case SpecialRegister::kClusterNctaidZ: return at(launch().cluster, SpecialRegister::kClusterNctaidX);
    case SpecialRegister::kClusterCtarank: return block.rank;
    case SpecialRegister::kClusterNctarank: return blocks();
    case SpecialRegister::kIsExplicitCluster: return launch().explicit_cluster || blocks() > 1 ? 1 : 0;
    case SpecialRegister::kWarpSz: return kWarpSize;
    default: return 0;
  }
}

}  // namespace tutti::interpreter
