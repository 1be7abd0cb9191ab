#include "libraries/fft/request.h"

#include <algorithm>
#include <array>

namespace tutti::fft {
namespace {

FftResult ResultOf(std::optional<ProblemError> error) {
  if (!error) return FftResult::kSuccess;
  return *error == ProblemError::kSize ? FftResult::kInvalidSize : FftResult::kInvalidValue;
}

bool Is16Bits(int type) {
  return type == kReal16 || type == kComplex16 || type == kReal16Brain || type == kComplex16Brain;
}

}  // namespace

FftResult ReadType(int type, Kind* kind, bool* is_double) {
  switch (type) {
    case kC2C:
    case kZ2Z: *kind = Kind::kComplex; break;
    case kR2C:
    case kD2Z: *kind = Kind::kRealToComplex; break;
    case kC2R:
    case kZ2D: *kind = Kind::kComplexToReal; break;
    default: return FftResult::kInvalidType;
  }
  *is_double = type >= kZ2Z;
  return FftResult::kSuccess;
}

FftResult ReadDense(int rank, const int64_t* n, int type, int64_t batch, Problem* problem) {
  return ReadMany<int64_t>(rank, n, {nullptr, 1, 0, nullptr, 1, 0}, type, batch, problem);
}

template <typename Int>
FftResult ReadMany(int rank, const Int* n, const ManyLayout<Int>& layout, int type, Int batch, Problem* problem) {
  Kind kind{};
  bool is_double = false;
  if (const FftResult result = ReadType(type, &kind, &is_double); result != FftResult::kSuccess) return result;
  if (rank < 1 || rank > kMaxRank || n == nullptr || (layout.in_embed == nullptr) != (layout.out_embed == nullptr))
    return FftResult::kInvalidValue;
  std::array<int64_t, kMaxRank> extents{}, in_embed{}, out_embed{};
  std::copy_n(n, rank, extents.begin());
  if (layout.in_embed == nullptr)
    return ResultOf(MakeProblem(rank, extents.data(), nullptr, nullptr, kind, is_double, batch, *problem));
  std::copy_n(layout.in_embed, rank, in_embed.begin());
  std::copy_n(layout.out_embed, rank, out_embed.begin());
  const Embedding in{in_embed.data(), layout.in_stride, layout.in_dist};
  const Embedding out{out_embed.data(), layout.out_stride, layout.out_dist};
  return ResultOf(MakeProblem(rank, extents.data(), &in, &out, kind, is_double, batch, *problem));
}

template FftResult ReadMany(int, const int*, const ManyLayout<int>&, int, int, Problem*);
template FftResult ReadMany(int, const int64_t*, const ManyLayout<int64_t>&, int, int64_t, Problem*);

FftResult TypeOfData(int in, int out, int execution, int* type) {
  if (Is16Bits(in) || Is16Bits(out) || Is16Bits(execution)) return FftResult::kNotSupported;
  struct Row {
    int in, out, execution, type;
  };
  static constexpr Row kRows[] = {
      {kComplex32, kComplex32, kComplex32, kC2C}, {kReal32, kComplex32, kComplex32, kR2C},
      {kComplex32, kReal32, kComplex32, kC2R},    {kComplex64, kComplex64, kComplex64, kZ2Z},
      {kReal64, kComplex64, kComplex64, kD2Z},    {kComplex64, kReal64, kComplex64, kZ2D}};
  for (const Row& row : kRows) {
    if (row.in != in || row.out != out || row.execution != execution) continue;
    *type = row.type;
    return FftResult::kSuccess;
  }
  return FftResult::kInvalidType;
}

}  // namespace tutti::fft
