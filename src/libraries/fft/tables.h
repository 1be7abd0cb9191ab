// The factors that kernels read: computed in long double on the host, in one array for a plan.
#pragma once

#include <complex>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace tutti::fft {

class Tables {
 public:
  // Each returns the table's place in elements from the start; equal tables are there once.
  // exp(-2 pi i k p / (radix m)), for k = 1 to radix - 1 and all p < m.
  uint64_t Pass(unsigned radix, uint64_t m);
  // What kernels/whole.cuh reads for n, whose passes are Radices(n). The first pass's by 32 values of p at a time, for
  // each k their real and then their imaginary parts, so that they are read in their order; then the second one's, if
  // there is a third, as above.
  uint64_t Whole(uint64_t n);
  // exp(-2 pi i k / n), for k <= n / 4.
  uint64_t Half(uint64_t n);
  // Bluestein's: c[k] = exp(-pi i k k / n) for k < n; c / m; and the transform of length m of conj(c), around 0.
  uint64_t Chirp(uint64_t n);
  uint64_t ScaledChirp(uint64_t n, uint64_t m);
  uint64_t ChirpSpectrum(uint64_t n, uint64_t m);

  uint64_t elements() const { return elements_; }
  // All of them, as elements of T.
  template <typename T>
  std::vector<std::complex<T>> Compute() const;

 private:
  enum class Of : uint8_t { kPass, kWhole, kHalf, kChirp, kScaledChirp, kChirpSpectrum };
  using Key = std::tuple<Of, uint64_t, uint64_t>;
  uint64_t Add(const Key& key, uint64_t elements);

  std::map<Key, uint64_t> places_;
  uint64_t elements_ = 0;
};

// exp(-2 pi i k / n) for k < n, to double's precision and beyond.
class Roots {
 public:
  explicit Roots(uint64_t n);
  std::complex<long double> operator()(uint64_t k) const {
    const auto &a = fine_[k % fine_.size()], &b = coarse_[k / fine_.size()];
    // Not operator*, which looks for infinities.
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }

 private:
  std::vector<std::complex<long double>> fine_, coarse_;  // powers, and powers of the power after them
};

}  // namespace tutti::fft
