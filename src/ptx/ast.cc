#include "ptx/ast.h"

#include "ptx/name_table.h"

namespace tutti::ptx {
namespace {

struct TypeRow {
  std::string_view name;
  uint8_t bits;
};

// In the order of Type.
constexpr TypeRow kTypes[] = {
    {"", 0},        {"b8", 8},      {"b16", 16},       {"b32", 32},        {"b64", 64},
    {"b128", 128},  {"u8", 8},      {"u16", 16},       {"u32", 32},        {"u64", 64},
    {"s8", 8},      {"s16", 16},    {"s32", 32},       {"s64", 64},        {"f16", 16},
    {"f16x2", 32},  {"bf16", 16},   {"bf16x2", 32},    {"tf32", 32},       {"e4m3x2", 16},
    {"e5m2x2", 16}, {"e4m3", 8},    {"e5m2", 8},       {"f32", 32},        {"f64", 64},
    {"u16x2", 32},  {"s16x2", 32},  {"f32x2", 64},     {"u4", 4},          {"s4", 4},
    {"b1", 1},      {"e3m2", 6},    {"e2m3", 6},       {"e2m1", 4},        {"ue8m0", 8},
    {"e3m2x2", 16}, {"e2m3x2", 16}, {"e2m1x2", 8},     {"ue8m0x2", 16},    {"e4m3x4", 32},
    {"e5m2x4", 32}, {"e3m2x4", 32}, {"e2m3x4", 32},    {"e2m1x4", 16},     {"u2", 2},
    {"s2", 2},      {"ue4m3", 8},   {"b8x16", 128},    {"b6x16_p32", 128}, {"b4x16_p64", 128},
    {"pred", 1},    {"texref", 0},  {"samplerref", 0}, {"surfref", 0},
};
static_assert(std::size(kTypes) == static_cast<size_t>(Type::kSurfref) + 1);

constexpr auto kTypeNames = [] {
  std::array<std::string_view, std::size(kTypes)> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kTypes[i].name;
  return names;
}();

// In the order of StateSpace.
constexpr std::string_view kSpaceNames[] = {"",      "reg",   "global", "shared",
                                            "const", "local", "param",  "shared::cluster"};
static_assert(std::size(kSpaceNames) == static_cast<size_t>(StateSpace::kSharedCluster) + 1);

uint64_t BytesOf(Type type, uint32_t vector, uint64_t count) {
  return (static_cast<uint64_t>(BitsOf(type)) + 7) / 8 * vector * count;
}

}  // namespace

uint32_t BitsOf(Type type) { return kTypes[static_cast<size_t>(type)].bits; }

std::string_view NameOf(Type type) { return kTypes[static_cast<size_t>(type)].name; }

std::optional<Type> TypeFromName(std::string_view name) {
  static const NameTable<Type> table(kTypeNames);
  if (name.empty()) return std::nullopt;
  return table.Find(name);
}

bool IsFloat(Type type) {
  switch (type) {
    case Type::kF16:
    case Type::kF16x2:
    case Type::kBF16:
    case Type::kBF16x2:
    case Type::kTF32:
    case Type::kE4M3x2:
    case Type::kE5M2x2:
    case Type::kE4M3:
    case Type::kE5M2:
    case Type::kF32:
    case Type::kF64:
    case Type::kF32x2:
    case Type::kE3M2:
    case Type::kE2M3:
    case Type::kE2M1:
    case Type::kUE8M0:
    case Type::kE3M2x2:
    case Type::kE2M3x2:
    case Type::kE2M1x2:
    case Type::kUE8M0x2: return true;
    default: return false;
  }
}

bool IsSigned(Type type) {
  switch (type) {
    case Type::kS2:
    case Type::kS4:
    case Type::kS8:
    case Type::kS16:
    case Type::kS16x2:
    case Type::kS32:
    case Type::kS64: return true;
    default: return false;
  }
}

std::string_view NameOf(StateSpace space) { return kSpaceNames[static_cast<size_t>(space)]; }

std::optional<StateSpace> StateSpaceFromName(std::string_view name) {
  static const NameTable<StateSpace> table(kSpaceNames);
  if (name.empty()) return std::nullopt;
  if (name == "shared::cta") return StateSpace::kShared;
  if (name == "param::entry" || name == "param::func") return StateSpace::kParam;
  return table.Find(name);
}

// The parser refuses variables whose size does not fit in 63 bits.
uint64_t Variable::bytes() const { return BytesOf(type, vector, count); }
uint64_t LocalVariable::bytes() const { return BytesOf(type, vector, count); }

}  // namespace tutti::ptx
