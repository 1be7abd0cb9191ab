// How a kernel's work is divided into units and blocks (kernels/arguments.h).
#pragma once

#include <optional>

#include "libraries/fft/steps.h"

namespace tutti::fft {

// Rows of `length` lanes each; `elements_per_lane` says how much work a lane is. Sets the units and the blocks of the
// step; false if there are too many for 32-bit counters.
bool Divide(uint64_t rows, uint64_t length, unsigned elements_per_lane, CommonArguments& common, uint32_t& blocks);

// A pass over `outer` arrays: the kernel's name and arguments, for radix R, m and s as in kernels/arguments.h. Nothing
// if they are too large.
std::optional<Step> MakePass(unsigned radix, uint64_t m, uint64_t s, uint64_t outer, Tables& tables);

// Whether there is a kernel for all passes of rows of n elements (kernels/whole.cuh).
bool HasWhole(uint64_t n, bool is_double);
std::optional<Step> MakeWhole(uint64_t n, uint64_t rows, Tables& tables);

}  // namespace tutti::fft
