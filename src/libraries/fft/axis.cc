#include "libraries/fft/axis.h"

#include <algorithm>
#include <bit>

#include "libraries/fft/factors.h"
#include "libraries/fft/launch_shape.h"

namespace tutti::fft {
namespace {

// Scratch arrays of about this many elements stay in the caches of a processor.
constexpr uint64_t kScratchElements = uint64_t{1} << 18;

// And not more than this many times: a plan holds the steps of each.
constexpr uint64_t kMostChunks = 1024;

struct Signs {
  int in = 1, out = 1;
};

// The step of one or all passes.
bool AddPass(const Axis& axis, std::optional<Step> step, Signs signs, const Operand& from, const Operand& to,
             Output& output) {
  if (!step) return false;
  auto& arguments = std::get<PassArguments>(step->arguments);
  arguments.in_sign = signs.in;
  arguments.out_sign = signs.out;
  step->from = from;
  step->to = to;
  step->from.pitch *= axis.rows_per_array;
  step->to.pitch *= axis.rows_per_array;
  output.steps.steps.push_back(std::move(*step));
  return true;
}

void AddPasses(const Axis& axis, const Form& form, Output& output, std::vector<Operation>& operations) {
  if (axis.inner == 1 && HasWhole(axis.n, output.is_double)) {
    operations.push_back({form, true, [=, &output](const Operand& from, const Operand& to) {
                            const int sign = axis.is_inverse ? -1 : 1;
                            return AddPass(axis, MakeWhole(axis.n, axis.outer, output.tables), {sign, sign}, from, to,
                                           output);
                          }});
    return;
  }
  const std::vector<unsigned> radices = Radices(axis.n);
  uint64_t done = 1;
  for (size_t i = 0; i < radices.size(); ++i) {
    const bool is_last = i + 1 == radices.size();
    const Signs signs{axis.is_inverse && i == 0 ? -1 : 1, axis.is_inverse && is_last ? -1 : 1};
    operations.push_back({form, is_last, [=, radix = radices[i], &output](const Operand& from, const Operand& to) {
                            auto step =
                                MakePass(radix, axis.n / done / radix, axis.inner * done, axis.outer, output.tables);
                            return AddPass(axis, std::move(step), signs, from, to, output);
                          }});
    done *= radices[i];
  }
}

class Bluestein {
 public:
  Bluestein(const Axis& axis, Output& output)
      : axis_(axis), output_(output), m_(std::bit_ceil(2 * axis.n - 1)), at_once_(1) {
    if (m_ * axis.inner < kScratchElements) at_once_ = kScratchElements / (m_ * axis.inner);
    at_once_ = std::min(axis.outer, std::max(at_once_, axis.outer / kMostChunks + 1));
  }

  bool Emit(Operand from, Operand to) {
    from.pitch *= axis_.rows_per_array;
    to.pitch *= axis_.rows_per_array;
    output_.steps.scratch = std::max(output_.steps.scratch, at_once_ * m_ * axis_.inner);
    for (uint64_t first = 0; first < axis_.outer; first += at_once_) {
      const uint64_t rows = std::min(at_once_, axis_.outer - first);
      Operand chunk_from = from, chunk_to = to;
      chunk_from.offset += first * from.pitch;
      chunk_to.offset += first * to.pitch;
      if (!EmitChunk(rows, chunk_from, chunk_to)) return false;
    }
    return true;
  }

 private:
  bool EmitChunk(uint64_t rows, const Operand& from, const Operand& to) {
    const int sign = axis_.is_inverse ? -1 : 1;
    const uint64_t n = axis_.n;
    const Operand start{Place::kScratch, m_ * axis_.inner};
    Operand at = start;
    if (!Multiply(rows, {n, m_}, {sign, 1}, output_.tables.Chirp(n), from, at)) return false;
    if (!Transform(rows, false, at)) return false;
    if (!Multiply(rows, {m_, m_}, {1, 1}, output_.tables.ChirpSpectrum(n, m_), at, at)) return false;
    if (!Transform(rows, true, at)) return false;
    return Multiply(rows, {n, n}, {1, sign}, output_.tables.ScaledChirp(n, m_), at, to);
  }

  struct Lengths {
    uint64_t in, out;
  };
  bool Multiply(uint64_t rows, Lengths lengths, Signs signs, uint64_t table, const Operand& from, const Operand& to) {
    const uint64_t in = lengths.in * axis_.inner, out = lengths.out * axis_.inner;
    Step step;
    MultiplyArguments arguments;
    if (!Divide(rows, out, 1, arguments.common, step.blocks)) return false;
    arguments.in_length = static_cast<unsigned>(in);
    arguments.out_length = static_cast<unsigned>(out);
    arguments.by_inner = MakeDivisor(static_cast<unsigned>(axis_.inner));
    arguments.in_sign = signs.in;
    arguments.out_sign = signs.out;
    step.kernel = "multiply";
    step.arguments = arguments;
    step.from = from;
    step.to = to;
    step.table = table;
    output_.steps.steps.push_back(std::move(step));
    return true;
  }

  // Of length m, from `at` to where `at` is then.
  bool Transform(uint64_t rows, bool is_inverse, Operand& at) {
    const Axis axis{rows, m_, axis_.inner, is_inverse};
    std::vector<Operation> operations;
    AddPasses(axis, {}, output_, operations);
    for (const Operation& operation : operations) {
      Operand to = at;
      if (!operation.works_in_place) to.place = at.place == Place::kScratch ? Place::kSecondScratch : Place::kScratch;
      if (!operation.emit(at, to)) return false;
      at = to;
    }
    return true;
  }

  const Axis axis_;
  Output& output_;
  const uint64_t m_;   // of the convolution
  uint64_t at_once_;   // of the outer arrays
};

}  // namespace

void AddAxis(const Axis& axis, const Form& to, Output& output, std::vector<Operation>& operations) {
  if (axis.n == 1) return;
  if (HasPasses(axis.n)) return AddPasses(axis, to, output, operations);
  operations.push_back({to, true, [=, &output](const Operand& from, const Operand& target) {
                          return Bluestein(axis, output).Emit(from, target);
                        }});
}

}  // namespace tutti::fft
