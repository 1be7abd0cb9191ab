#include "libraries/blas/data_types.h"

#include <bit>
#include <cstring>

namespace tutti::blas {
namespace {

bool TypeOf(int data_type, Type* type) {
  switch (data_type) {
    case kR32F: *type = Type::kF32; return true;
    case kR64F: *type = Type::kF64; return true;
    case kC32F: *type = Type::kC32; return true;
    case kC64F: *type = Type::kC64; return true;
    case kR16F: *type = Type::kF16; return true;
    case kR16BF: *type = Type::kBF16; return true;
    case kR8I: *type = Type::kS8; return true;
    case kR32I: *type = Type::kS32; return true;
    default: return false;
  }
}

bool IsHalf(Type type) { return type == Type::kF16 || type == Type::kBF16; }

float FromHalf(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  const float size = exponent == 0 ? static_cast<float>(fraction) * 0x1p-24f
                                   : std::bit_cast<float>((exponent + 112) << 23 | fraction << 13);
  return sign != 0 ? -size : size;
}

template <typename V>
V Read(const void* from) {
  V value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

bool TypesOf(int a, int b, int c, int d, int compute, int scale, ProductTypes* types) {
  if (!TypeOf(a, &types->a) || !TypeOf(b, &types->b) || !TypeOf(c, &types->c) || !TypeOf(d, &types->d)) return false;
  if (types->a != types->b || types->c != types->d) return false;
  const Type in = types->a, out = types->c;
  switch (compute) {
    case kCompute16F:
    case kCompute16FPedantic:
      types->compute = Type::kF32;
      types->scale = Type::kF16;
      if (in != Type::kF16 || out != Type::kF16) return false;
      break;
    case kCompute32F:
    case kCompute32FPedantic:
    case kCompute32FFast16F:
    case kCompute32FFast16BF:
    case kCompute32FFastTF32:
    case kCompute32FEmulated16BFX9:
      if (in == Type::kC32 && out == Type::kC32) {
        types->compute = types->scale = Type::kC32;
      } else {
        types->compute = types->scale = Type::kF32;
        if (!(in == Type::kF32 && out == Type::kF32) && !(IsHalf(in) && (out == in || out == Type::kF32)) &&
            !(in == Type::kS8 && out == Type::kF32))
          return false;
      }
      break;
    case kCompute64F:
    case kCompute64FPedantic:
    case kCompute64FEmulated:
      if (in != out || (in != Type::kF64 && in != Type::kC64)) return false;
      types->compute = types->scale = in;
      break;
    case kCompute32I:
    case kCompute32IPedantic:
      types->compute = types->scale = Type::kS32;
      if (in == Type::kS8 && out == Type::kS8 && scale == kR32F) {  // products of integers, scaled as floats
        types->compute = types->scale = Type::kF32;
      } else if (in != Type::kS8 || out != Type::kS32) {
        return false;
      }
      break;
    default: return false;
  }
  Type asked{};
  return scale < 0 || (TypeOf(scale, &asked) && asked == types->scale);
}

Scalar ScalarOfType(bool on_device, const void* value, Type type) {
  if (on_device) return {0, 0, value, type};
  Scalar scalar{0, 0, nullptr, type};
  switch (type) {
    case Type::kF16: scalar.re = FromHalf(Read<uint16_t>(value)); break;
    case Type::kF64: scalar.re = Read<double>(value); break;
    case Type::kS32: scalar.re = Read<int32_t>(value); break;
    case Type::kC32: {
      const auto complex = Read<ComplexFloat>(value);
      scalar.re = complex.re;
      scalar.im = complex.im;
      break;
    }
    case Type::kC64: {
      const auto complex = Read<ComplexDouble>(value);
      scalar.re = complex.re;
      scalar.im = complex.im;
      break;
    }
    default: scalar.re = Read<float>(value); break;
  }
  return scalar;
}

}  // namespace tutti::blas
