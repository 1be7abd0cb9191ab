// Extended precision: the carry flag CC.CF of a thread, written by .cc and read by addc, subc and madc. The ISA calls a
// subtraction's flag a borrow; the vendor's assembler, when it folds a chain, computes a subtraction as the sum with
// the complement: the flag is set where nothing was borrowed. Only a subtraction and an addition in one chain show it.
#include "interpreter/families.h"

namespace tutti::interpreter {

void AddWithCarry(Step& step) {
  const Type type = step.type();
  const uint32_t bits = ptx::BitsOf(type);
  const bool subtract = step.in.opcode == ptx::Opcode::kSub || step.in.opcode == ptx::Opcode::kSubc;
  const bool reads = step.in.opcode == ptx::Opcode::kAddc || step.in.opcode == ptx::Opcode::kSubc;
  const Bits a = step.Get(1, type), b = step.Get(2, type), carry = reads && step.thread.carry != subtract ? 1 : 0;
  const Bits result = subtract ? a - b - carry : a + b + carry;
  if (step.Has(Modifier::kCc)) step.thread.carry = subtract ? a >= b + carry : (result >> bits & 1) != 0;
  step.Put(0, type, static_cast<uint64_t>(result));
}

void MultiplyAddWithCarry(Step& step) {
  const Type type = step.type();
  const uint32_t bits = ptx::BitsOf(type);
  step.Accept({Modifier::kLo});
  const bool hi = step.Has(Modifier::kHi);
  Bits product;
  if (ptx::IsSigned(type))
    product = static_cast<Bits>(step.Number(1, type) * step.Number(2, type));
  else
    product = static_cast<Bits>(step.Get(1, type)) * step.Get(2, type);
  const Bits half = LowBits(static_cast<uint64_t>(hi ? product >> bits : product), bits);
  const Bits carry = step.in.opcode == ptx::Opcode::kMadc && step.thread.carry ? 1 : 0;
  const Bits sum = half + step.Get(3, type) + carry;
  if (step.Has(Modifier::kCc)) step.thread.carry = (sum >> bits & 1) != 0;
  step.Put(0, type, static_cast<uint64_t>(sum));
}

}  // namespace tutti::interpreter
