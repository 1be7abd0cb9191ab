// Packed types: an instruction on .u16x2, .f16x2, .f32x2 and the like does the same to each element.
#pragma once

#include <span>
#include <vector>

#include "interpreter/step.h"

namespace tutti::interpreter {

struct Packing {
  Type element;
  uint32_t count;
};
constexpr Packing PackingOf(Type type) {
  switch (type) {
    case Type::kU16x2: return {Type::kU16, 2};
    case Type::kS16x2: return {Type::kS16, 2};
    case Type::kF16x2: return {Type::kF16, 2};
    case Type::kBF16x2: return {Type::kBF16, 2};
    case Type::kF32x2: return {Type::kF32, 2};
    default: return {type, 1};
  }
}

inline __int128 ToNumber(uint64_t bits, Type type) {
  const uint32_t width = ptx::BitsOf(type);
  return ptx::IsSigned(type) ? static_cast<__int128>(SignExtend(bits, width))
                             : static_cast<__int128>(LowBits(bits, width));
}

// Operand 0 becomes, element by element, what `compute` makes of the elements of all others.
template <typename F>
void ForEachLane(Step& step, Type type, F compute) {
  const Packing packing = PackingOf(type);
  const uint32_t bits = ptx::BitsOf(packing.element);
  std::vector<uint64_t> sources, elements;
  for (size_t i = 1; i < step.count(); ++i) sources.push_back(step.Get(i, type));
  uint64_t result = 0;
  for (uint32_t lane = 0; lane < packing.count; ++lane) {
    elements.clear();
    for (const uint64_t source : sources) elements.push_back(LowBits(source >> (lane * bits), bits));
    result |= LowBits(compute(packing.element, std::span<const uint64_t>(elements)), bits) << (lane * bits);
  }
  step.Put(0, type, result);
}

}  // namespace tutti::interpreter
