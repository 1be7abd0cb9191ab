#include "libraries/fft/problem.h"

#include "base/checked.h"

namespace tutti::fft {
namespace {

constexpr uint64_t kMaxElements = uint64_t{1} << 60;

// a * b, or nothing from 2^60 on.
std::optional<uint64_t> Product(uint64_t a, uint64_t b) {
  const auto product = CheckedMul(a, b);
  return product && *product < kMaxElements ? product : std::nullopt;
}

// True if the elements of the side have indices below 2^60.
bool Fits(const Side& side, const Extents& extents, int rank, uint64_t batch) {
  uint64_t highest = 0;
  for (int i = 0; i <= rank; ++i) {
    const auto part = i == rank ? Product(batch - 1, side.dist) : Product(extents[i] - 1, side.strides[i]);
    if (!part) return false;
    highest += *part;  // at most four of less than 2^60
  }
  return highest < kMaxElements;
}

std::optional<ProblemError> MakeSide(const Embedding& embedding, const Extents& extents, int rank, uint64_t batch,
                                     Side& side) {
  if (embedding.stride < 1 || embedding.dist < (batch > 1 ? 1 : 0)) return ProblemError::kValue;
  side.is_basic = false;
  side.dist = static_cast<uint64_t>(embedding.dist);
  uint64_t stride = static_cast<uint64_t>(embedding.stride);
  for (int i = rank - 1; i >= 0; --i) {
    side.strides[i] = stride;
    if (i == 0) break;
    if (embedding.embed[i] < 1) return ProblemError::kValue;
    const auto product = Product(stride, static_cast<uint64_t>(embedding.embed[i]));
    if (!product) return ProblemError::kSize;
    stride = *product;
  }
  return Fits(side, extents, rank, batch) ? std::nullopt : std::optional(ProblemError::kSize);
}

}  // namespace

uint64_t Problem::rows() const {
  uint64_t rows = batch;
  for (int i = 0; i + 1 < rank; ++i) rows *= n[i];
  return rows;
}

Extents Problem::InExtents() const {
  Extents extents = n;
  if (kind == Kind::kComplexToReal) extents[rank - 1] = last() / 2 + 1;
  return extents;
}

Extents Problem::OutExtents() const {
  Extents extents = n;
  if (kind == Kind::kRealToComplex) extents[rank - 1] = last() / 2 + 1;
  return extents;
}

std::optional<ProblemError> MakeProblem(int rank, const int64_t* n, const Embedding* in, const Embedding* out,
                                        Kind kind, bool is_double, int64_t batch, Problem& problem) {
  if (rank < 1 || rank > kMaxRank || n == nullptr) return ProblemError::kValue;
  if (batch < 1) return ProblemError::kSize;
  problem = {};
  problem.kind = kind;
  problem.is_double = is_double;
  problem.rank = rank;
  problem.batch = static_cast<uint64_t>(batch);
  uint64_t elements = problem.batch;
  for (int i = 0; i < rank; ++i) {
    if (n[i] < 1) return ProblemError::kSize;
    problem.n[i] = static_cast<uint64_t>(n[i]);
    // The last extent may be padded by two.
    const auto product = Product(elements, problem.n[i] + 2);
    if (!product) return ProblemError::kSize;
    elements = *product;
  }
  if (in == nullptr || out == nullptr || in->embed == nullptr || out->embed == nullptr) return std::nullopt;
  if (const auto error = MakeSide(*in, problem.InExtents(), rank, problem.batch, problem.in)) return error;
  return MakeSide(*out, problem.OutExtents(), rank, problem.batch, problem.out);
}

Side DenseSide(const Extents& extents, int rank, uint64_t row_pitch) {
  Side side;
  side.is_basic = false;
  side.strides[rank - 1] = 1;
  uint64_t stride = row_pitch;
  for (int i = rank - 2; i >= 0; --i) {
    side.strides[i] = stride;
    stride *= extents[i];
  }
  side.dist = stride;
  return side;
}

}  // namespace tutti::fft
