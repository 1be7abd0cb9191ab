#include "compiler/widen/analysis/shape.h"

#include <llvm/IR/DerivedTypes.h>

#include <algorithm>

namespace tutti::compiler {

Shape Shape::Varying() {
  Shape shape;
  shape.kind_ = Kind::kVarying;
  return shape;
}

Shape Shape::Runs(unsigned run, BaseRule rule) {
  Shape shape;
  shape.kind_ = Kind::kRuns;
  shape.run_ = static_cast<uint8_t>(run);
  shape.rule_ = rule;
  return shape;
}

LaneOffsets Shape::offsets() const { return offsets_ ? *offsets_ : LaneOffsets{}; }

bool Shape::is_constant_over(unsigned run) const {
  if (!is_runs() || run > run_ || !wraps_.empty()) return false;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (offset(lane) != offset(lane / run * run)) return false;
  }
  return true;
}

unsigned Shape::constant_run() const {
  for (unsigned run : {32u, 16u, 8u}) {
    if (is_constant_over(run)) return run;
  }
  return 0;
}

bool Shape::is_parallel_to(const Shape& other, unsigned run) const {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned first = lane / run * run;
    if (Difference(offset(lane), offset(first)) != Difference(other.offset(lane), other.offset(first))) return false;
  }
  return true;
}

void Shape::set_offsets(const LaneOffsets& offsets, unsigned bits) {
  LaneOffsets wrapped;
  for (unsigned lane = 0; lane < kLanes; ++lane) wrapped[lane] = WrapTo(offsets[lane], bits);
  const bool zero = std::ranges::all_of(wrapped, [](int64_t offset) { return offset == 0; });
  offsets_ = zero ? nullptr : std::make_shared<const LaneOffsets>(wrapped);
}

bool Shape::AddWraps(const Shape& from, int64_t factor) {
  for (const WrapTerm& term : from.wraps_) {
    const int64_t scaled = static_cast<int64_t>(static_cast<uint64_t>(term.factor) * static_cast<uint64_t>(factor));
    auto same = std::ranges::find(wraps_, term.extension, &WrapTerm::extension);
    if (same != wraps_.end()) {
      same->factor += scaled;
    } else {
      wraps_.push_back({term.extension, scaled});
    }
  }
  return wraps_.size() <= 2;
}

bool Shape::operator==(const Shape& other) const {
  if (kind_ != other.kind_) return false;
  if (kind_ != Kind::kRuns) return true;
  if (run_ != other.run_ || align_ != other.align_ || wraps_ != other.wraps_) return false;
  return offsets() == other.offsets();
}

unsigned IntegerBits(const llvm::Type* type) {
  if (type->isPointerTy()) return 64;
  return type->isIntegerTy() ? type->getIntegerBitWidth() : 0;
}

int64_t WrapTo(int64_t value, unsigned bits) {
  if (bits >= 64) return value;
  const unsigned shift = 64 - bits;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift;
}

}  // namespace tutti::compiler
