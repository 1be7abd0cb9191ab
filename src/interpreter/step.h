// One thread executing one instruction: the interface that the families use.
#pragma once

#include <bitset>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "interpreter/machine.h"
#include "ptx/ast.h"

namespace tutti::interpreter {

using ptx::Modifier;
using ptx::Operand;
using ptx::OperandKind;
using ptx::StateSpace;
using ptx::Type;

// The `bits` low bits of a value, with zeros or the sign above them.
constexpr uint64_t LowBits(uint64_t value, uint32_t bits) {
  return bits >= 64 ? value : value & ((uint64_t{1} << bits) - 1);
}
constexpr int64_t SignExtend(uint64_t value, uint32_t bits) {
  return bits >= 64 ? static_cast<int64_t>(value) : static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

class Step {
 public:
  Step(Machine& machine, Thread& thread, const ptx::Instruction& instruction)
      : in(instruction), thread(thread), block(*machine.block_), machine(machine) {}

  const ptx::Instruction& in;
  Thread& thread;
  Block& block;
  Machine& machine;

  // ---- the instruction's words

  // Whether it has the modifier, which counts as interpreted from now on (Unknown).
  bool Has(Modifier modifier) {
    known_.set(static_cast<size_t>(modifier));
    return in.Has(modifier);
  }
  // Modifiers that change no result: hints, scopes, orders (threads take turns here).
  void Accept(std::initializer_list<Modifier> modifiers) {
    for (const Modifier modifier : modifiers) Has(modifier);
  }
  // Empty, or the modifier that nobody asked for.
  std::string Unknown() const;
  Type type(size_t i = 0) const { return i < in.types.size() ? in.types[i] : Type::kNone; }
  Type last_type() const { return in.types.empty() ? Type::kNone : in.types.back(); }

  // ---- operands

  size_t count() const { return in.operands.size(); }
  // A source of `type`: its bits, zeros above them.
  uint64_t Get(size_t operand, Type type) { return Get(in.operands[operand], type); }
  uint64_t Get(const Operand& operand, Type type) {
    return LowBits(static_cast<uint64_t>(Wide(operand, type)), ptx::BitsOf(type));
  }
  int64_t Signed(size_t operand, Type type) { return SignExtend(Get(operand, type), ptx::BitsOf(type)); }
  // The same as a number of the type's own signedness.
  __int128 Number(size_t operand, Type type) {
    return ptx::IsSigned(type) ? static_cast<__int128>(Signed(operand, type))
                               : static_cast<__int128>(Get(operand, type));
  }
  bool Predicate(size_t operand) { return Predicate(in.operands[operand]); }
  bool Predicate(const Operand& operand) {
    return ((static_cast<uint64_t>(Wide(operand, Type::kPred)) & 1) != 0) != operand.negated;
  }
  Bits Wide(const Operand& operand, Type type);

  // A result of `type`. A wider register gets the sign of signed types above it, and zeros of others.
  void Put(size_t operand, Type type, uint64_t bits) { Put(in.operands[operand], type, bits); }
  void Put(const Operand& operand, Type type, uint64_t bits);
  void PutWide(const Operand& operand, Bits bits);
  // The elements of a vector operand, or the operand itself.
  std::span<const Operand> Elements(const Operand& operand) const;

  // ---- memory

  // The address an operand in brackets names, in `space`: for generic, global and const the place in the address space
  // of all; for shared, local and param the offset in the window.
  uint64_t Address(const Operand& operand);
  // The state space to look in: the instruction's, or that of the variable in the brackets.
  StateSpace SpaceOf(const Operand& operand) const;
  // The bytes; null, with a fault recorded, where there are none or `alignment` is not kept.
  uint8_t* Locate(StateSpace space, uint64_t address, uint64_t bytes, uint64_t alignment,
                  const Operand* operand = nullptr);
  // Whether a generic address is in the shared memory of the block, or with `cluster` of any of its cluster.
  bool IsInShared(uint64_t address, bool cluster) const;
  // Where generic addresses of the block's own shared memory begin.
  uint64_t SharedWindow() const { return kSharedWindow + block.rank * kWindowBytes; }
  // The address in shared::cluster of what lies at this offset in the shared memory of the block of this rank. With one
  // block in a cluster, that block's own.
  uint64_t PlaceInBlock(uint64_t offset, uint64_t rank) const {
    offset &= (uint64_t{1} << kSlotShift) - 1;
    return blocks() > 1 ? ((rank + 1) << kSlotShift) + offset : offset;
  }
  // Blocks of its cluster.
  uint32_t blocks() const { return static_cast<uint32_t>(machine.blocks_.size()); }
  // The block of this rank; null: the cluster has none.
  Block* BlockOf(uint64_t rank) const { return rank < blocks() ? &machine.blocks_[rank] : nullptr; }
  // The place in the space of a module variable or of what the function declares.
  uint64_t AddressOf(const Operand& operand);
  uint64_t Special(ptx::SpecialRegister special);
  // Of a zero-terminated string in generic memory.
  std::string Text(uint64_t address);

  // ---- the run

  void Fault(int error, std::string text);
  void Refuse(std::string text);
  bool stopped() const { return machine.stopped(); }
  void CallFunction(const ptx::Function& callee) { machine.CallFunction(thread, callee, in); }
  void ReturnFrom() { machine.ReturnFrom(thread); }
  const ptx::Module& module() const { return machine.module_; }
  const ptx::Function& function() const { return *thread.frames.back().function; }
  const Launch& launch() const { return *machine.launch_; }
  std::vector<std::vector<uint8_t>>& heap() { return machine.heap_; }
  Outcome& outcome() { return machine.outcome_; }

 private:
  std::bitset<512> known_;
};

// The lanes of a warp that have met at an operation that they execute together: each with its own operands.
class Meeting {
 public:
  explicit Meeting(uint32_t members) : members_(members) {}
  void Add(Step& step) { steps_[step.thread.lane()] = &step; }

  uint32_t members() const { return members_; }
  // Null: the lane is not one of them (or has exited).
  Step* lane(uint32_t lane) const { return steps_[lane]; }
  Step& any() const {
    for (Step* step : steps_) {
      if (step != nullptr) return *step;
    }
    __builtin_unreachable();
  }
  template <typename F>
  void ForEach(F f) const {
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
      if (steps_[lane] != nullptr) f(lane, *steps_[lane]);
    }
  }

 private:
  uint32_t members_;
  Step* steps_[kWarpSize] = {};
};

}  // namespace tutti::interpreter
