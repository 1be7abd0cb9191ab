// What a plan computes: checked copies of the numbers that a program passes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace tutti::fft {

enum class Kind : uint8_t { kComplex, kRealToComplex, kComplexToReal };

constexpr int kMaxRank = 3;
using Extents = std::array<uint64_t, kMaxRank>;

// Where the elements of one side are: of transform b and index x at b * dist + sum of x[i] * strides[i], counted in the
// elements of that side.
struct Side {
  bool is_basic = true;  // densely packed; a real side of a transform in place is padded for its complex one
  Extents strides{};
  uint64_t dist = 0;
};

struct Problem {
  Kind kind = Kind::kComplex;
  bool is_double = false;
  int rank = 1;
  Extents n{};  // the first `rank` are used
  uint64_t batch = 1;
  Side in, out;

  uint64_t last() const { return n[rank - 1]; }
  // Of all transforms: the product of all extents but the last.
  uint64_t rows() const;
  // Extents of the input or output: complex sides of real transforms have n / 2 + 1 in the last place.
  Extents InExtents() const;
  Extents OutExtents() const;
};

// The advanced layout of a side as a program describes it.
struct Embedding {
  const int64_t* embed = nullptr;  // `rank` extents of the memory that holds a transform
  int64_t stride = 1, dist = 0;
};

enum class ProblemError : uint8_t { kSize, kValue };

// Checks and takes over all numbers; null embeddings (or null `embed`) are the basic layout of both sides. A problem
// that passes has extents, strides and element counts whose products below stay under 2^60.
std::optional<ProblemError> MakeProblem(int rank, const int64_t* n, const Embedding* in, const Embedding* out,
                                        Kind kind, bool is_double, int64_t batch, Problem& problem);

// What a basic side is, once it is known whether the transform is in place: dense strides and dist.
Side DenseSide(const Extents& extents, int rank, uint64_t row_pitch);

}  // namespace tutti::fft
