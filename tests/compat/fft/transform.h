// One transform by cuFFT's functions, and the same by FFTW in double precision.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tutti::compat::fft {

// Where the elements of one side are, as cufftPlanMany takes it.
struct Layout {
  std::vector<int> embed;
  int stride = 1, dist = 0;
};

struct Transform {
  int type = 0;
  std::vector<int> n;
  int batch = 1;
  bool is_in_place = false, is_inverse = false;
  std::optional<Layout> in, out;  // both or none

  std::string Text() const;
};

// Runs it on random numbers. The length of the difference from FFTW's result, over the length of that result. Fails the
// test if a call fails, if elements change that are no results, or if the input of a transform out of place does.
double ErrorOf(const Transform& transform);

// What is left of single (double) precision after a transform of some ten thousand elements.
double ToleranceOf(int type);

}  // namespace tutti::compat::fft
