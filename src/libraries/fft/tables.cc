#include "libraries/fft/tables.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "libraries/fft/factors.h"

namespace tutti::fft {
namespace {

using Number = std::complex<long double>;

// By eighths of a turn, where sine and cosine are most exact.
Number Root(uint64_t k, uint64_t n) {
  const auto angle = [&](uint64_t part, uint64_t whole) {
    return 2 * std::numbers::pi_v<long double> * static_cast<long double>(part) / static_cast<long double>(whole);
  };
  k %= n;
  if (2 * k > n) return std::conj(Root(n - k, n));
  if (4 * k > n) {
    const Number mirrored = Root(n - 2 * k, 2 * n);
    return {-mirrored.real(), mirrored.imag()};
  }
  if (8 * k > n) {
    const long double x = angle(n - 4 * k, 4 * n);
    return {std::sin(x), -std::cos(x)};
  }
  const long double x = angle(k, n);
  return {std::cos(x), -std::sin(x)};
}

// In place, of a power of two of elements.
void Transform(std::vector<std::complex<double>>& a) {
  const size_t n = a.size();
  const Roots roots(n);
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j |= bit;
    if (i < j) std::swap(a[i], a[j]);
  }
  std::vector<std::complex<double>> w(n / 2 + 1);
  for (size_t k = 0; k < n / 2; ++k) w[k] = static_cast<std::complex<double>>(roots(k));
  for (size_t half = 1; half < n; half *= 2) {
    for (size_t start = 0; start < n; start += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        const auto [x, y] = std::pair(w[k * (n / 2 / half)].real(), w[k * (n / 2 / half)].imag());
        auto &u = a[start + k], &v = a[start + k + half];
        const std::complex<double> turned{v.real() * x - v.imag() * y, v.real() * y + v.imag() * x};
        v = u - turned;
        u += turned;
      }
    }
  }
}

template <typename T>
std::complex<T> Rounded(Number x) {
  return {static_cast<T>(x.real()), static_cast<T>(x.imag())};
}

template <typename T>
void ComputePass(uint64_t radix, uint64_t m, std::complex<T>* table) {
  const Roots roots(radix * m);
  for (uint64_t k = 1; k < radix; ++k) {
    for (uint64_t p = 0; p < m; ++p) table[(k - 1) * m + p] = Rounded<T>(roots(k * p));
  }
}

// Of kernels/whole.cuh.
struct WholePasses {
  explicit WholePasses(uint64_t n) {
    const std::vector<unsigned> radices = Radices(n);
    first = radices[0];
    m = n / first;
    second = radices[1];
    second_m = m / second;
  }
  uint64_t first_elements() const { return (first - 1) * ((m + kLanes - 1) / kLanes * kLanes); }
  uint64_t second_elements() const { return second_m == 1 ? 0 : (second - 1) * second_m; }

  static constexpr uint64_t kLanes = 32;
  uint64_t first, m, second, second_m;
};

template <typename T>
void ComputeWhole(uint64_t n, std::complex<T>* table) {
  const WholePasses passes(n);
  const Roots roots(n);
  constexpr uint64_t kLanes = WholePasses::kLanes;
  auto* const numbers = reinterpret_cast<T*>(table);  // as the standard allows for arrays of complex numbers
  for (uint64_t p = 0; p < passes.m; ++p) {
    for (uint64_t k = 1; k < passes.first; ++k) {
      T* const at = numbers + 2 * kLanes * (p / kLanes * (passes.first - 1) + k - 1) + p % kLanes;
      const std::complex<T> root = Rounded<T>(roots(k * p));
      at[0] = root.real();
      at[kLanes] = root.imag();
    }
  }
  if (passes.second_m != 1) ComputePass(passes.second, passes.second_m, table + passes.first_elements());
}

// exp(-pi i k k / n) for k < n, from the exact remainder of k k.
template <typename Take>
void ForChirp(uint64_t n, Take take) {
  const Roots roots(2 * n);
  uint64_t square = 0;
  for (uint64_t k = 0; k < n; ++k) {
    take(k, roots(square));
    square = (square + 2 * k + 1) % (2 * n);
  }
}

}  // namespace

Roots::Roots(uint64_t n) {
  uint64_t fine = 1;
  while (fine * fine < n && fine < 4096) fine *= 2;
  fine_.reserve(fine);
  for (uint64_t k = 0; k < fine; ++k) fine_.push_back(Root(k, n));
  coarse_.reserve(n / fine + 1);
  for (uint64_t k = 0; k <= n / fine; ++k) coarse_.push_back(Root(k * fine, n));
}

uint64_t Tables::Add(const Key& key, uint64_t elements) {
  const auto [place, is_new] = places_.try_emplace(key, elements_);
  if (is_new) elements_ += elements;
  return place->second;
}

uint64_t Tables::Pass(unsigned radix, uint64_t m) { return Add({Of::kPass, radix, m}, (radix - 1) * m); }
uint64_t Tables::Whole(uint64_t n) {
  const WholePasses passes(n);
  return Add({Of::kWhole, n, 0}, passes.first_elements() + passes.second_elements());
}
uint64_t Tables::Half(uint64_t n) { return Add({Of::kHalf, n, 0}, n / 4 + 1); }
uint64_t Tables::Chirp(uint64_t n) { return Add({Of::kChirp, n, 0}, n); }
uint64_t Tables::ScaledChirp(uint64_t n, uint64_t m) { return Add({Of::kScaledChirp, n, m}, n); }
uint64_t Tables::ChirpSpectrum(uint64_t n, uint64_t m) { return Add({Of::kChirpSpectrum, n, m}, m); }

template <typename T>
std::vector<std::complex<T>> Tables::Compute() const {
  std::vector<std::complex<T>> all(elements_);
  const auto rounded = [](Number x) { return Rounded<T>(x); };
  for (const auto& [key, place] : places_) {
    const auto [of, a, b] = key;
    std::complex<T>* table = all.data() + place;
    switch (of) {
      case Of::kPass: ComputePass(a, b, table); break;
      case Of::kWhole: ComputeWhole(a, table); break;
      case Of::kHalf: {
        const Roots roots(a);
        for (uint64_t k = 0; k <= a / 4; ++k) table[k] = rounded(roots(k));
        break;
      }
      case Of::kChirp: ForChirp(a, [&](uint64_t k, Number c) { table[k] = rounded(c); }); break;
      case Of::kScaledChirp:
        ForChirp(a, [&, m = static_cast<long double>(b)](uint64_t k, Number c) { table[k] = rounded(c / m); });
        break;
      case Of::kChirpSpectrum: {
        std::vector<std::complex<double>> around(b);
        ForChirp(a, [&, m = b](uint64_t k, Number c) {
          around[k] = static_cast<std::complex<double>>(std::conj(c));
          if (k != 0) around[m - k] = around[k];
        });
        Transform(around);
        for (uint64_t k = 0; k < b; ++k) table[k] = rounded(around[k]);
        break;
      }
    }
  }
  return all;
}

template std::vector<std::complex<float>> Tables::Compute<float>() const;
template std::vector<std::complex<double>> Tables::Compute<double>() const;

}  // namespace tutti::fft
