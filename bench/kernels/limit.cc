#include "limit.h"

#include <algorithm>
#include <cstring>

#include "../timing.h"

namespace bench {
namespace {

volatile double kept;

// Operations per ms: ten chains of FMAs on each core.
template <typename T>
double Rate() {
  using Vector [[gnu::vector_size(kVectorBytes)]] = T;
  constexpr int kRounds = 20000, kChains = 10;
  double best = 0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    int threads = 0;
    const double ns = TimeEach(1, [&] {
#pragma omp parallel reduction(+ : threads)
      {
        Vector sums[kChains] = {}, factor = {};
        factor += T(0.5);
        for (int i = 0; i < kRounds; ++i) {
#pragma GCC unroll 10
          for (int chain = 0; chain < kChains; ++chain) sums[chain] = sums[chain] * factor + factor;
        }
        double sum = 0;
        for (const Vector& v : sums) sum += static_cast<double>(v[0]);
        kept = sum;
        threads += 1;
      }
    })[0];
    const double operations = 2.0 * threads * kRounds * kChains * static_cast<double>(kVectorBytes / sizeof(T));
    best = std::max(best, operations / ns * 1e6);
  }
  return best;
}

}  // namespace

double Limit::Ms(const Work& work) {
  double ms = 0;
  if (work.bytes > 0) {
    const auto half = static_cast<size_t>(work.bytes / 2);
    if (from_.size() < half) from_.resize(half, 1), to_.resize(half, 1);
    double best = 1e30;
    for (int attempt = 0; attempt < 4; ++attempt) {
      best = std::min(best, TimeEach(1, [&] {
                        constexpr size_t kPiece = 1 << 16;
#pragma omp parallel for schedule(static)
                        for (size_t at = 0; at < half; at += kPiece)
                          std::memcpy(to_.data() + at, from_.data() + at, std::min(kPiece, half - at));
                      })[0]);
    }
    ms = best / 1e6;
  }
  if (work.operations > 0) ms = std::max(ms, work.operations / Rate<float>());
  if (work.double_operations > 0) ms = std::max(ms, work.double_operations / Rate<double>());
  return ms;
}

}  // namespace bench
