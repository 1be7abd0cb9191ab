// Compares what PTX statements compute, compiled and run, with what the host computes, over tables of inputs. All
// statements of one Statements are one kernel: compiling is what takes time.
//
//   Statements s;
//   s.Add<uint32_t(uint32_t, uint32_t)>("add.u32 %d, %a, %b;", Pairs(kWords), [](auto a, auto b) { return a + b; });
//   s.Check();
//
// %d, %a, %b, %c are registers of the types' widths (float: .f32, bool: .pred); %x0..%x3 are spare registers of the
// result's type, %p0, %p1 spare predicates.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace tutti::compiler {

enum class Slot : uint8_t { kWord16, kWord32, kWord64, kFloat, kDouble, kPredicate };

template <typename T>
constexpr Slot SlotOf() {
  if constexpr (std::is_same_v<T, bool>) return Slot::kPredicate;
  if constexpr (std::is_same_v<T, float>) return Slot::kFloat;
  if constexpr (std::is_same_v<T, double>) return Slot::kDouble;
  return sizeof(T) == 2 ? Slot::kWord16 : sizeof(T) == 4 ? Slot::kWord32 : Slot::kWord64;
}

class Statements {
 public:
  // Bit for bit; NaNs of any payload are equal where the result is a float.
  template <typename Signature, typename Inputs, typename Host>
  void Add(const std::string& text, const Inputs& inputs, Host host) {
    AddTyped(static_cast<Signature*>(nullptr), text, inputs, host, 0);
  }
  // Within `tolerance` * max(|expected|, floor).
  template <typename Signature, typename Inputs, typename Host>
  void AddNear(const std::string& text, const Inputs& inputs, Host host, double tolerance) {
    AddTyped(static_cast<Signature*>(nullptr), text, inputs, host, tolerance);
  }

  // Compiles, runs and compares; each difference is a test failure that names statement and inputs.
  void Check();

 private:
  struct Row {
    std::string text;
    Slot result;
    std::vector<Slot> arguments;
    size_t count = 0;
    std::vector<std::vector<uint64_t>> inputs;  // by argument; values in the low bits
    std::vector<uint64_t> expected;
    double tolerance = 0;
    std::vector<uint64_t> outputs;
  };

  template <typename T>
  static uint64_t BitsOf(T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }

  template <typename Result, typename... Arguments, typename Inputs, typename Host>
  void AddTyped(Result (*)(Arguments...), const std::string& text, const Inputs& inputs, Host host, double tolerance) {
    Row row{.text = text, .result = SlotOf<Result>(), .arguments = {SlotOf<Arguments>()...}, .tolerance = tolerance};
    row.inputs.resize(sizeof...(Arguments));
    for (const auto& input : inputs) {
      ++row.count;
      std::apply(
          [&](auto... values) {
            size_t argument = 0;
            (row.inputs[argument++].push_back(BitsOf(static_cast<Arguments>(values))), ...);
            row.expected.push_back(BitsOf(static_cast<Result>(host(static_cast<Arguments>(values)...))));
          },
          input);
    }
    rows_.push_back(std::move(row));
  }

  std::string KernelText() const;
  void Compare(const Row& row) const;

  std::vector<Row> rows_;
};

// Tables of inputs: tuples of all combinations.
template <typename T>
std::vector<std::tuple<T>> Singles(const std::vector<T>& values) {
  std::vector<std::tuple<T>> all;
  for (T a : values) all.push_back({a});
  return all;
}
template <typename T, typename U>
std::vector<std::tuple<T, U>> Pairs(const std::vector<T>& first, const std::vector<U>& second) {
  std::vector<std::tuple<T, U>> all;
  for (T a : first) {
    for (U b : second) all.push_back({a, b});
  }
  return all;
}
template <typename T>
std::vector<std::tuple<T, T>> Pairs(const std::vector<T>& values) {
  return Pairs(values, values);
}
template <typename T>
std::vector<std::tuple<T, T, T>> Triples(const std::vector<T>& values) {
  std::vector<std::tuple<T, T, T>> all;
  for (T a : values) {
    for (T b : values) {
      for (T c : values) all.push_back({a, b, c});
    }
  }
  return all;
}

// Numbers at which arithmetic goes wrong, if it does.
std::vector<uint16_t> Words16();
std::vector<uint32_t> Words32();
std::vector<uint64_t> Words64();
std::vector<float> Floats();
std::vector<double> Doubles();
std::vector<float> FewFloats();  // for triples
std::vector<double> FewDoubles();
std::vector<uint16_t> Halves();  // f16 bits

}  // namespace tutti::compiler
