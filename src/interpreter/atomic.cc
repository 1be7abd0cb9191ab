// atom and red: executed in one turn of the thread, hence atomic.
#include <cstring>

#include "interpreter/families.h"
#include "interpreter/float_format.h"
#include "interpreter/lanes.h"

namespace tutti::interpreter {
namespace {

uint64_t Updated(Step& step, Type type, uint64_t old, uint64_t b, uint64_t c) {
  if (step.Has(Modifier::kExch)) return b;
  if (step.Has(Modifier::kCas)) return old == b ? c : old;
  return UpdatedBy(step, type, old, b);
}

}  // namespace

uint64_t UpdatedBy(Step& step, Type type, uint64_t old, uint64_t b) {
  if (step.Has(Modifier::kAnd)) return old & b;
  if (step.Has(Modifier::kOr)) return old | b;
  if (step.Has(Modifier::kXor)) return old ^ b;
  if (step.Has(Modifier::kInc)) return old >= b ? 0 : old + 1;
  if (step.Has(Modifier::kDec)) return old == 0 || old > b ? b : old - 1;
  const bool min = step.Has(Modifier::kMin), max = step.Has(Modifier::kMax);
  step.Accept({Modifier::kAdd});
  const Packing packing = PackingOf(type);
  const uint32_t bits = ptx::BitsOf(packing.element);
  uint64_t result = 0;
  for (uint32_t i = 0; i < packing.count; ++i) {
    const uint64_t x = LowBits(old >> (bits * i), bits), y = LowBits(b >> (bits * i), bits);
    const FloatFormat* format = FormatOf(packing.element);
    uint64_t element;
    if (min || max) {
      if (format != nullptr)
        element = ChooseFloat(*format, x, y, max, false);
      else
        element = (ToNumber(y, packing.element) > ToNumber(x, packing.element)) == max ? y : x;
    } else if (format != nullptr) {
      element =
          Compute(*format, FloatOperation::kAdd, ToDouble(*format, x), ToDouble(*format, y), 0, Rounding::kNearestEven);
    } else {
      element = x + y;
    }
    result |= LowBits(element, bits) << (bits * i);
  }
  return result;
}

void Atomic(Step& step) {
  step.Accept({Modifier::kRelaxed, Modifier::kAcquire, Modifier::kRelease, Modifier::kAcqRel, Modifier::kCta,
               Modifier::kCluster, Modifier::kGpu, Modifier::kSys, Modifier::kNoftz, Modifier::kL2CacheHint,
               Modifier::kAsync});
  const bool returns = step.in.opcode == ptx::Opcode::kAtom;
  const size_t at_operand = returns ? 1 : 0;
  const Operand& address = step.in.operands[at_operand];
  const Type type = step.last_type();
  const uint64_t bytes = ptx::BitsOf(type) / 8, all = bytes * step.in.vector;
  uint8_t* at = step.Locate(step.SpaceOf(address), step.Address(address), all, all, &address);
  if (at == nullptr) return;
  if (type == Type::kB128) {
    Bits old, b = step.Wide(step.in.operands[at_operand + 1], type);
    std::memcpy(&old, at, sizeof old);
    if (step.Has(Modifier::kCas))
      b = old == b ? step.Wide(step.in.operands[at_operand + 2], type) : old;
    else if (!step.Has(Modifier::kExch))
      return step.Refuse("128 bits");
    std::memcpy(at, &b, sizeof b);
    step.PutWide(step.in.operands[0], old);
    return;
  }
  const bool swaps = step.Has(Modifier::kCas);
  const auto sources = step.Elements(step.in.operands[at_operand + 1]);
  const auto targets = returns ? step.Elements(step.in.operands[0]) : std::span<const Operand>();
  for (size_t i = 0; i < sources.size(); ++i) {
    uint64_t old = 0;
    std::memcpy(&old, at + bytes * i, bytes);
    const uint64_t b = step.Get(sources[i], type), c = swaps ? step.Get(at_operand + 2, type) : 0;
    const uint64_t result = Updated(step, type, old, b, c);
    std::memcpy(at + bytes * i, &result, bytes);
    if (returns) step.Put(targets[i], type, old);
  }
  if (step.Has(Modifier::kMbarrierCompleteTxBytes)) CompleteBytes(step, step.in.operands[2], all);
}

}  // namespace tutti::interpreter
