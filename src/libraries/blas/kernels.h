// Our kernels, by name and type of elements.
#pragma once

#include "libraries/blas/abi.h"
#include "libraries/blas/tasks.h"
#include "libraries/common/launch.h"

namespace tutti::blas {

using CUstream_st = cuda::CUstream_st;

enum class Name {
#define KERNEL(file, name) name,
#include "libraries/blas/kernels.def"
#undef KERNEL
};

// For elements of type kF32, kF64, kC32, kC64; and kS32, whose products alone there are.
libraries::Kernel& KernelOf(Name name, Type type);

template <typename T>
inline constexpr Type kTypeOf = Type::kF32;
template <>
inline constexpr Type kTypeOf<double> = Type::kF64;
template <>
inline constexpr Type kTypeOf<ComplexFloat> = Type::kC32;
template <>
inline constexpr Type kTypeOf<ComplexDouble> = Type::kC64;

// cuBLAS' word for what the driver says.
Status StatusOf(int result);

// Launches with `threads` along x.
template <typename... Arguments>
Status Launch(CUstream_st* stream, Name name, Type type, libraries::Grid grid, uint32_t threads,
              const Arguments&... arguments) {
  return StatusOf(libraries::Launch(KernelOf(name, type), stream, grid, {threads}, arguments...));
}

}  // namespace tutti::blas
