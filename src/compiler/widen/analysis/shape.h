// What the 32 lanes' values of one SSA value have in common (an extended uniformity analysis).
//
// A value either *varies* (nothing is known: it becomes a vector), or it comes in *runs*: lanes [r*run, (r+1)*run)
// share a scalar base, and lane l's value is base[l / run] + offset[l], with offsets known at compile time. run = 32
// without offsets is a uniform value; run = 32 with offsets 0, 1, 2, ... is a thread index; run = 16 is what a row of a
// 16 x 16 block shares. Addresses of this form become plain vector accesses, and only the bases are computed at run
// time, as scalars.
//
// Arithmetic is that of the value's width: base + offset wraps. Extending such a value to 64 bits keeps the form only
// if no lane wraps in the narrow width. Where that cannot be proved the form is kept under an assumption (`wraps`):
// memory accesses check it and fall back to another form if it does not hold; any other use computes the exact vector.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Instructions.h>

#include <array>
#include <cstdint>
#include <memory>

namespace tutti::compiler {

constexpr unsigned kLanes = 32;
using LaneOffsets = std::array<int64_t, kLanes>;

// Of two offsets. They wrap, too: a kernel may make up any address.
inline int64_t Difference(int64_t offset, int64_t from) {
  return static_cast<int64_t>(static_cast<uint64_t>(offset) - static_cast<uint64_t>(from));
}

// A zext or sext whose operand may wrap in some lane, and the factor that its error has been multiplied by since.
struct WrapTerm {
  const llvm::Instruction* extension;
  int64_t factor;
  bool operator==(const WrapTerm&) const = default;
};

// How the bases follow from the operands.
enum class BaseRule : uint8_t {
  kValue,  // run by run: the operation on the operands' values in the run's first lane
  kLinear,  // the operation on the operands' bases
  kMasked,  // a bitwise operation with a constant: on the base, and the constant without its low `align` bits
  kFolded,  // all is in the offsets, the base is zero
  kSource,  // made by the emitter of this instruction
};

class Shape {
 public:
  static constexpr uint8_t kZeroBase = 64;  // align() if every base is zero: the offsets are the values

  Shape() = default;  // unknown: no lane has reached it yet
  static Shape Varying();
  static Shape Runs(unsigned run, BaseRule rule = BaseRule::kValue);
  static Shape Uniform(BaseRule rule = BaseRule::kValue) { return Runs(kLanes, rule); }

  bool is_unknown() const { return kind_ == Kind::kUnknown; }
  bool is_varying() const { return kind_ == Kind::kVarying; }
  bool is_runs() const { return kind_ == Kind::kRuns; }
  bool is_uniform() const { return is_runs() && run_ == kLanes && offsets_ == nullptr && wraps_.empty(); }
  bool is_constant_lanes() const { return is_runs() && align_ == kZeroBase; }
  bool has_offsets() const { return offsets_ != nullptr; }

  unsigned run() const { return run_; }
  unsigned run_count() const { return kLanes / run_; }
  int64_t offset(unsigned lane) const { return offsets_ ? (*offsets_)[lane] : 0; }
  LaneOffsets offsets() const;
  // log2 of a power of two that divides every base.
  unsigned align() const { return align_; }
  BaseRule rule() const { return rule_; }
  const llvm::SmallVector<WrapTerm, 1>& wraps() const { return wraps_; }

  // The longest run length, up to this shape's, over which all lanes have one value; 0 if none is worth using.
  unsigned constant_run() const;
  bool is_constant_over(unsigned run) const;
  // Within each run the offsets differ from `other`'s by one constant.
  bool is_parallel_to(const Shape& other, unsigned run) const;

  void set_offsets(const LaneOffsets& offsets, unsigned bits);  // wrapped to `bits`, sign-extended
  void set_align(unsigned align) { align_ = static_cast<uint8_t>(align < kZeroBase ? align : kZeroBase); }
  void set_run(unsigned run) { run_ = static_cast<uint8_t>(run); }
  void set_rule(BaseRule rule) { rule_ = rule; }
  // False if there would be too many to track.
  bool AddWraps(const Shape& from, int64_t factor);
  void AddWrap(const llvm::Instruction* extension) { wraps_.push_back({extension, 1}); }
  void ClearWraps() { wraps_.clear(); }

  // Ignores what is not part of the lattice (alignment only falls, the rule follows).
  bool operator==(const Shape& other) const;

 private:
  enum class Kind : uint8_t { kUnknown, kRuns, kVarying };
  Kind kind_ = Kind::kUnknown;
  uint8_t run_ = kLanes;
  uint8_t align_ = 0;
  BaseRule rule_ = BaseRule::kValue;
  std::shared_ptr<const LaneOffsets> offsets_;  // null: all zero
  llvm::SmallVector<WrapTerm, 1> wraps_;
};

// Width of an integer or a pointer, 0 for all other types.
unsigned IntegerBits(const llvm::Type* type);
// `value` wrapped to `bits` and sign-extended.
int64_t WrapTo(int64_t value, unsigned bits);

}  // namespace tutti::compiler
