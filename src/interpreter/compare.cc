// setp, set, selp, slct.
#include "interpreter/families.h"
#include "interpreter/float_format.h"
#include "interpreter/lanes.h"

namespace tutti::interpreter {
namespace {

// How two values stand to each other.
struct Relation {
  bool less = false, equal = false, unordered = false;
};

Relation Relate(Type type, uint64_t a, uint64_t b, bool ftz) {
  const FloatFormat* format = FormatOf(type);
  if (format == nullptr) {
    const __int128 x = ToNumber(a, type), y = ToNumber(b, type);
    return {.less = x < y, .equal = x == y};
  }
  const double x = ToDouble(*format, ftz ? Flush(*format, a) : a), y = ToDouble(*format, ftz ? Flush(*format, b) : b);
  return {.less = x < y, .equal = x == y, .unordered = x != x || y != y};
}

class Comparison {
 public:
  explicit Comparison(Step& step) : ftz_(step.Has(Modifier::kFtz)) {
    struct Row {
      Modifier modifier;
      bool less, equal, greater, unordered;
    };
    static constexpr Row kRows[] = {
        {Modifier::kEq, 0, 1, 0, 0},  {Modifier::kNe, 1, 0, 1, 0},  {Modifier::kLt, 1, 0, 0, 0},
        {Modifier::kLe, 1, 1, 0, 0},  {Modifier::kGt, 0, 0, 1, 0},  {Modifier::kGe, 0, 1, 1, 0},
        {Modifier::kLo, 1, 0, 0, 0},  {Modifier::kLs, 1, 1, 0, 0},  {Modifier::kHi, 0, 0, 1, 0},
        {Modifier::kHs, 0, 1, 1, 0},  {Modifier::kEqu, 0, 1, 0, 1}, {Modifier::kNeu, 1, 0, 1, 1},
        {Modifier::kLtu, 1, 0, 0, 1}, {Modifier::kLeu, 1, 1, 0, 1}, {Modifier::kGtu, 0, 0, 1, 1},
        {Modifier::kGeu, 0, 1, 1, 1}, {Modifier::kNum, 1, 1, 1, 0}, {Modifier::kNan, 0, 0, 0, 1},
    };
    for (const Row& row : kRows) {
      if (!step.Has(row.modifier)) continue;
      less_ = row.less, equal_ = row.equal, greater_ = row.greater, unordered_ = row.unordered;
    }
    conjunction_ = step.Has(Modifier::kAnd), disjunction_ = step.Has(Modifier::kOr),
    exclusive_ = step.Has(Modifier::kXor);
  }

  bool Holds(Type type, uint64_t a, uint64_t b) const {
    const Relation relation = Relate(type, a, b, ftz_);
    if (relation.unordered) return unordered_;
    return relation.less ? less_ : relation.equal ? equal_ : greater_;
  }
  bool combines() const { return conjunction_ || disjunction_ || exclusive_; }
  bool Combine(bool t, bool with) const {
    return conjunction_ ? t && with : disjunction_ ? t || with : exclusive_ ? t != with : t;
  }

 private:
  bool ftz_, less_ = false, equal_ = false, greater_ = false, unordered_ = false;
  bool conjunction_, disjunction_, exclusive_;
};

}  // namespace

// p = t op c, q = !t op c. Of packed halves p is about the lower ones and q about the upper.
void Compare(Step& step) {
  const Comparison comparison(step);
  const Type type = step.type();
  const size_t first = step.in.has_second_destination ? 2 : 1;
  const uint64_t a = step.Get(first, type), b = step.Get(first + 1, type);
  const bool with = comparison.combines() && step.Predicate(first + 2);
  const Packing packing = PackingOf(type);
  if (packing.count == 2) {
    const uint32_t bits = ptx::BitsOf(packing.element);
    const auto half = [&](uint32_t i) {
      return comparison.Holds(packing.element, LowBits(a >> (bits * i), bits), LowBits(b >> (bits * i), bits));
    };
    step.Put(0, Type::kPred, comparison.Combine(half(0), with));
    if (step.in.has_second_destination) step.Put(1, Type::kPred, comparison.Combine(half(1), with));
    return;
  }
  const bool t = comparison.Holds(type, a, b);
  step.Put(0, Type::kPred, comparison.Combine(t, with));
  if (step.in.has_second_destination) step.Put(1, Type::kPred, comparison.Combine(!t, with));
}

void SetValue(Step& step) {
  const Comparison comparison(step);
  const Type to = step.type(0), type = step.last_type();
  const uint64_t a = step.Get(1, type), b = step.Get(2, type);
  const bool with = comparison.combines() && step.Predicate(3);
  const Packing packing = PackingOf(type);
  const uint32_t bits = ptx::BitsOf(packing.element), to_bits = ptx::BitsOf(to) / packing.count;
  const FloatFormat* format = FormatOf(to);
  const uint64_t truth =
      format != nullptr ? FromDouble(*format, 1, Rounding::kNearestEven) : LowBits(~uint64_t{0}, to_bits);
  uint64_t result = 0;
  for (uint32_t i = 0; i < packing.count; ++i) {
    const bool t = comparison.Holds(packing.element, LowBits(a >> (bits * i), bits), LowBits(b >> (bits * i), bits));
    if (comparison.Combine(t, with)) result |= truth << (to_bits * i);
  }
  step.Put(0, to, result);
}

void Select(Step& step) { step.Put(0, step.type(), step.Get(step.Predicate(3) ? 1 : 2, step.type())); }

// The first source if the third is at least zero; NaN is not.
void SelectBySign(Step& step) {
  const Type type = step.type(0), by = step.last_type();
  bool at_least_zero;
  if (by == Type::kF32) {
    const uint64_t c = step.Get(3, by);
    at_least_zero = ToDouble(kF32, step.Has(Modifier::kFtz) ? Flush(kF32, c) : c) >= 0;
  } else {
    at_least_zero = step.Signed(3, by) >= 0;
  }
  step.Put(0, type, step.Get(at_least_zero ? 1 : 2, type));
}

}  // namespace tutti::interpreter
