// From a problem to its steps.
//
// All operations work on dense arrays of complex numbers, or, along the last axis, on rows that are a pitch apart. The
// program's arrays are used directly where they are of this form; all other layouts are copied into the work area
// first, or out of it at the end.
//
// Real transforms of even length n take rows of n real numbers as n / 2 complex ones (a pass more of half the data,
// rather than twice of everything); odd ones are complex transforms whose imaginary parts are zero.
#include <algorithm>
#include <iterator>

#include "libraries/fft/axis.h"
#include "libraries/fft/launch_shape.h"

namespace tutti::fft {
namespace {

// Lanes run along rows if there are enough, and the elements of one are few.
constexpr uint64_t kShortRow = 16;

class Builder {
 public:
  Builder(const Problem& problem, Way way, Tables& tables, Steps& steps)
      : problem_(problem),
        way_(way),
        steps_(steps),
        output_{steps, tables, problem.is_double},
        last_(problem.last()),
        width_(last_ / 2 + 1),
        in_extents_(problem.InExtents()),
        out_extents_(problem.OutExtents()),
        in_(WithDefault(problem.in, in_extents_, problem.kind == Kind::kRealToComplex)),
        out_(WithDefault(problem.out, out_extents_, problem.kind == Kind::kComplexToReal)) {}

  bool Build() {
    switch (problem_.kind) {
      case Kind::kComplex: PlanComplex(); break;
      case Kind::kRealToComplex: PlanRealToComplex(); break;
      case Kind::kComplexToReal: PlanComplexToReal(); break;
    }
    std::vector<Place> route = FindRoute(from_, operations_, way_.is_in_place);
    if (route.empty()) {
      CopyFirst();
      route = FindRoute(from_, operations_, way_.is_in_place);
    }
    Operand at{Place::kIn, from_.in_pitch};
    for (size_t i = 0; i < route.size(); ++i) {
      const Operand to{route[i], operations_[i].to.PitchAt(route[i])};
      if (!operations_[i].emit(at, to)) return false;
      if (route[i] == Place::kWork) steps_.work = work_elements_;
      if (route[i] == Place::kSecondWork) steps_.second_work = work_elements_;
      at = to;
    }
    return true;
  }

 private:
  Side WithDefault(const Side& side, const Extents& extents, bool is_real) const {
    if (!side.is_basic) return side;
    return DenseSide(extents, problem_.rank, is_real && way_.is_in_place ? 2 * width_ : Last(extents));
  }
  Side Dense(uint64_t row_pitch) const { return DenseSide(problem_.n, problem_.rank, row_pitch); }
  uint64_t Last(const Extents& extents) const { return extents[problem_.rank - 1]; }

  // The distance of rows, if the side is of rows that are all equally far apart, with neighbours in them.
  std::optional<uint64_t> RowPitch(const Side& side) const {
    const int rank = problem_.rank;
    if (Last(side.strides) != 1) return std::nullopt;
    if (rank == 1) return side.dist;
    uint64_t expected = side.strides[rank - 2];
    for (int i = rank - 2; i >= 0; expected *= problem_.n[i--]) {
      if (side.strides[i] != expected) return std::nullopt;
    }
    if (problem_.batch > 1 && side.dist != expected) return std::nullopt;
    return side.strides[rank - 2];
  }
  // The same for rows without gaps, as transforms along other axes need them.
  std::optional<uint64_t> DensePitch(const Side& side, const Extents& extents) const {
    const auto pitch = RowPitch(side);
    return problem_.rank == 1 || (pitch && *pitch == Last(extents)) ? pitch : std::nullopt;
  }
  // Of rows of real numbers, in complex ones.
  std::optional<uint64_t> RealPitch(const Side& side) const {
    const auto pitch = RowPitch(side);
    return pitch && *pitch % 2 == 0 ? std::optional(*pitch / 2) : std::nullopt;
  }
  // Transforms next to each other, element by element: the batch is the innermost axis.
  bool IsBatchInner(const Side& side) const {
    uint64_t stride = problem_.batch;
    for (int i = problem_.rank - 1; i >= 0; stride *= problem_.n[i--]) {
      if (side.strides[i] != stride) return false;
    }
    return side.dist == 1 && problem_.batch > 1;
  }

  void Append(Step step, const Operand& from, const Operand& to) {
    step.from = from;
    step.to = to;
    steps_.steps.push_back(std::move(step));
  }

  // Copies all elements with indices below `extents`; in the work area, from rows of one pitch to rows of another.
  void Copy(const char* kernel, const Extents& extents, uint64_t from_pitch, uint64_t to_pitch, const Form& to) {
    operations_.push_back({to, operations_.empty() && to.out_pitch == from_.in_pitch,
                           [=, this](const Operand& from, const Operand& target) {
                             return EmitCopy(kernel, extents, from.place == Place::kIn ? in_ : Dense(from_pitch),
                                             target.place == Place::kOut ? out_ : Dense(to_pitch), from, target);
                           }});
  }
  // Takes the input to the work area, where the first operation would overwrite what it still reads.
  void CopyFirst() {
    std::vector<Operation> others = std::move(operations_);
    operations_.clear();
    const bool is_real = problem_.kind == Kind::kRealToComplex;
    const uint64_t pitch = problem_.kind == Kind::kComplex ? last_ : width_;
    Copy(is_real ? "copy_real" : "copy_complex", in_extents_, 0, is_real ? 2 * pitch : pitch, {0, 0, pitch, false});
    std::move(others.begin(), others.end(), std::back_inserter(operations_));
  }
  bool EmitCopy(const char* kernel, const Extents& extents, const Side& from_side, const Side& to_side,
                const Operand& from, const Operand& to) {
    struct Dimension {
      uint64_t extent, in_stride, out_stride;
    };
    std::vector<Dimension> dimensions{{problem_.batch, from_side.dist, to_side.dist}};
    for (int i = 0; i < problem_.rank; ++i)
      dimensions.push_back({extents[i], from_side.strides[i], to_side.strides[i]});
    if (dimensions.back().extent < kShortRow) {
      const auto longest = std::max_element(dimensions.begin(), dimensions.end(),
                                            [](const auto& a, const auto& b) { return a.extent < b.extent; });
      std::swap(*longest, dimensions.back());
    }
    dimensions.insert(dimensions.begin(), 4 - dimensions.size(), {1, 0, 0});
    Step step;
    CopyArguments arguments;
    for (int i = 0; i < 4; ++i) {
      arguments.extents[i] = static_cast<unsigned>(dimensions[i].extent);
      arguments.in_strides[i] = static_cast<long long>(dimensions[i].in_stride);
      arguments.out_strides[i] = static_cast<long long>(dimensions[i].out_stride);
    }
    if (!Divide(dimensions[0].extent * dimensions[1].extent * dimensions[2].extent, dimensions[3].extent, 1,
                arguments.common, step.blocks))
      return false;
    step.kernel = kernel;
    step.arguments = arguments;
    Append(std::move(step), from, to);
    return true;
  }

  // A kernel on rows of halves of spectra, for k below `length`.
  void Halves(const char* kernel, uint64_t length, uint64_t table, bool works_in_place, const Form& to) {
    operations_.push_back({to, works_in_place, [=, this](const Operand& from, const Operand& target) {
                             return EmitHalves(kernel, length, table, from, target);
                           }});
  }
  bool EmitHalves(const char* kernel, uint64_t length, uint64_t table, const Operand& from, const Operand& to) {
    const uint64_t rows = problem_.rows();
    const bool is_along_rows = length < kShortRow && rows > length;
    Step step;
    HalfArguments arguments;
    if (!Divide(is_along_rows ? length : rows, is_along_rows ? rows : length, 2, arguments.common, step.blocks))
      return false;
    arguments.half = static_cast<unsigned>(last_ / 2);
    arguments.length = static_cast<unsigned>(length);
    arguments.rows = static_cast<unsigned>(rows);
    step.kernel = is_along_rows ? std::string(kernel) + "_rows" : kernel;
    step.arguments = arguments;
    step.table = table;
    Append(std::move(step), from, to);
    return true;
  }

  void LastAxis(uint64_t n, bool is_inverse, const Form& form) {
    AddAxis({problem_.rows(), n, 1, is_inverse}, form, output_, operations_);
  }
  // Axes `from` to 0, of rows of `length` elements without gaps, in `batch` arrays.
  void OtherAxes(int from, uint64_t length, uint64_t batch, bool is_inverse, const Form& form) {
    uint64_t rows = 1;
    for (int i = from; i >= 0; --i) {
      uint64_t outer = batch;
      for (int k = 0; k < i; ++k) outer *= problem_.n[k];
      const uint64_t inner = length * rows;
      rows *= problem_.n[i];
      AddAxis({outer, problem_.n[i], inner, is_inverse, rows}, form, output_, operations_);
    }
  }

  void PlanComplex() {
    work_elements_ = problem_.rows() * last_;
    if (IsBatchInner(in_) && IsBatchInner(out_)) {
      const uint64_t batch = problem_.batch;
      from_ = {batch, batch, batch, true};
      OtherAxes(problem_.rank - 1, batch, 1, way_.is_inverse, from_);
      if (operations_.empty()) Copy("copy_complex", problem_.n, 0, 0, from_);
      return;
    }
    const auto in = DensePitch(in_, problem_.n), out = DensePitch(out_, problem_.n);
    from_.in_pitch = in.value_or(0);
    const Form form{0, out.value_or(0), last_, out.has_value()};
    if (!in) Copy("copy_complex", problem_.n, last_, last_, form);
    LastAxis(last_, way_.is_inverse, form);
    OtherAxes(problem_.rank - 2, last_, problem_.batch, way_.is_inverse, form);
    if (operations_.empty() || !out) Copy("copy_complex", problem_.n, last_, 0, form);
  }

  void PlanRealToComplex() {
    const auto out = DensePitch(out_, out_extents_);
    const Form spectrum{0, out.value_or(0), width_, out.has_value()};
    if (last_ % 2 == 0) {
      work_elements_ = problem_.rows() * width_;
      const auto in = RealPitch(in_);
      steps_.in_as_complex = in.has_value();
      from_.in_pitch = in.value_or(0);
      if (!in) Copy("copy_real", problem_.n, 2 * width_, 2 * width_, {0, 0, width_, false});
      LastAxis(last_ / 2, false, spectrum);
      Halves("real_spectrum", last_ / 4 + 1, output_.tables.Half(last_), true, spectrum);
    } else {
      work_elements_ = problem_.rows() * last_;
      const Form whole{0, 0, last_, false};
      Copy("copy_real_to_complex", problem_.n, 2 * width_, last_, whole);
      LastAxis(last_, false, whole);
      Copy("copy_complex", out_extents_, last_, width_, spectrum);
      if (problem_.rank == 1) return;
    }
    OtherAxes(problem_.rank - 2, width_, problem_.batch, false, spectrum);
    if (!out) Copy("copy_complex", out_extents_, width_, 0, {});
  }

  void PlanComplexToReal() {
    const auto in = DensePitch(in_, in_extents_), out = RealPitch(out_);
    from_.in_pitch = in.value_or(0);
    // What is behind the real numbers of a row is the transform's own only where it has taken its input from there.
    const Form spectrum{0, out.value_or(0), width_, out && *out == width_ && way_.is_in_place};
    if (!in) Copy("copy_complex", in_extents_, width_, width_, {0, 0, width_, false});
    OtherAxes(problem_.rank - 2, width_, problem_.batch, true, spectrum);
    if (last_ % 2 == 0) {
      work_elements_ = problem_.rows() * width_;
      steps_.out_as_complex = out.has_value();
      const Form rows{0, out.value_or(0), width_, out.has_value()};
      Halves("spectrum_real", last_ / 4 + 1, output_.tables.Half(last_), true, rows);
      LastAxis(last_ / 2, true, rows);
      if (!out) Copy("copy_real", problem_.n, 2 * width_, 0, {});
    } else {
      work_elements_ = problem_.rows() * last_;
      const Form whole{0, 0, last_, false};
      Halves("whole_spectrum", last_, kNoTable, false, whole);
      LastAxis(last_, true, whole);
      Copy("copy_complex_to_real", problem_.n, last_, 0, {});
    }
  }

  const Problem& problem_;
  const Way way_;
  Steps& steps_;
  Output output_;
  const uint64_t last_, width_;  // of a row, and of a row of a half spectrum
  const Extents in_extents_, out_extents_;
  const Side in_, out_;
  Form from_;
  std::vector<Operation> operations_;
  uint64_t work_elements_ = 0;
};

}  // namespace

uint64_t Steps::OffsetOf(Place place) const {
  switch (place) {
    case Place::kSecondWork: return work;
    case Place::kScratch: return work + second_work;
    case Place::kSecondScratch: return work + second_work + scratch;
    default: return 0;
  }
}

std::optional<Steps> MakeSteps(const Problem& problem, Way way, Tables& tables) {
  Steps steps;
  if (!Builder(problem, way, tables, steps).Build()) return std::nullopt;
  return steps;
}

}  // namespace tutti::fft
