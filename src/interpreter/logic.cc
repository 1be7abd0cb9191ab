// Logic and shifts.
#include <algorithm>

#include "interpreter/families.h"

namespace tutti::interpreter {

void Logic(Step& step) {
  const Type type = step.type();
  const auto source = [&](size_t i) { return type == Type::kPred ? uint64_t{step.Predicate(i)} : step.Get(i, type); };
  uint64_t result = source(1);
  switch (step.in.opcode) {
    case ptx::Opcode::kAnd: result &= source(2); break;
    case ptx::Opcode::kOr: result |= source(2); break;
    case ptx::Opcode::kXor: result ^= source(2); break;
    case ptx::Opcode::kNot: result = ~result; break;
    default: result = result == 0 ? 1 : 0; break;  // cnot
  }
  step.Put(0, type, result);
}

void Lookup3(Step& step) {
  const size_t first = step.in.has_second_destination ? 2 : 1;
  const uint64_t a = step.Get(first, Type::kB32), b = step.Get(first + 1, Type::kB32),
                 c = step.Get(first + 2, Type::kB32);
  const uint64_t table = step.Get(first + 3, Type::kB32);
  uint64_t result = 0;
  for (uint32_t i = 0; i < 32; ++i)
    result |= (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i;
  step.Put(0, Type::kB32, result);
  const bool conjunction = step.Has(Modifier::kAnd), disjunction = step.Has(Modifier::kOr);
  if (!conjunction && !disjunction) return;
  const bool with = step.Predicate(first + 4);
  step.Put(1, Type::kPred, conjunction ? result != 0 && with : result != 0 || with);
}

// Amounts above the width count as the width.
void Shift(Step& step) {
  const Type type = step.type();
  const uint32_t bits = ptx::BitsOf(type);
  const auto amount = static_cast<uint32_t>(std::min<uint64_t>(step.Get(2, Type::kU32), bits));
  Bits result;
  if (step.in.opcode == ptx::Opcode::kShl)
    result = static_cast<Bits>(step.Get(1, type)) << amount;
  else if (ptx::IsSigned(type))
    result = static_cast<Bits>(static_cast<__int128>(step.Signed(1, type)) >> amount);
  else
    result = static_cast<Bits>(step.Get(1, type)) >> amount;
  step.Put(0, type, static_cast<uint64_t>(result));
}

// shf: 32 bits out of the 64 of b:a, shifted.
void FunnelShift(Step& step) {
  const uint64_t pair = step.Get(1, Type::kB32) | step.Get(2, Type::kB32) << 32;
  const auto c = static_cast<uint32_t>(step.Get(3, Type::kU32));
  step.Accept({Modifier::kWrap, Modifier::kR});
  const uint32_t amount = step.Has(Modifier::kClamp) ? std::min(c, 32u) : c & 31;
  step.Put(0, Type::kB32,
           step.Has(Modifier::kL) ? LowBits(static_cast<uint64_t>((static_cast<Bits>(pair) << amount) >> 32), 32)
                                  : pair >> amount);
}

}  // namespace tutti::interpreter
