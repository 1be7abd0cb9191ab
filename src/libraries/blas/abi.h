// The ABI of cuBLAS, as its documentation has it: values of enumerations, layouts. Enumerations are plain ints: a
// program may pass any number. tests/libraries/blas_abi_test.cc compares them with the toolkit's headers if those are
// installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::blas {

enum Status : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 3,
  kInvalidValue = 7,
  kArchMismatch = 8,
  kMappingError = 11,
  kExecutionFailed = 13,
  kInternalError = 14,
  kNotSupported = 15,
  kLicenseError = 16,
};

enum Op : int { kN = 0, kT = 1, kC = 2, kConjugated = 3 };
enum Fill : int { kLower = 0, kUpper = 1, kFull = 2 };
enum Diagonal : int { kNonUnit = 0, kUnit = 1 };
enum Side : int { kLeft = 0, kRight = 1 };
enum PointerMode : int { kHost = 0, kDevice = 1 };

// cudaDataType_t
enum DataType : int {
  kR32F = 0,
  kR64F = 1,
  kR16F = 2,
  kR8I = 3,
  kC32F = 4,
  kC64F = 5,
  kR8U = 8,
  kR32I = 10,
  kR16BF = 14,
  kR8E4M3 = 28,
  kR8E5M2 = 29,
};

// cublasComputeType_t
enum ComputeType : int {
  kCompute16F = 64,
  kCompute16FPedantic = 65,
  kCompute32F = 68,
  kCompute32FPedantic = 69,
  kCompute64F = 70,
  kCompute64FPedantic = 71,
  kCompute32I = 72,
  kCompute32IPedantic = 73,
  kCompute32FFast16F = 74,
  kCompute32FFast16BF = 75,
  kCompute32FFastTF32 = 77,
  kCompute32FEmulated16BFX9 = 78,
  kCompute64FEmulated = 79,
};

// cuComplex and cuDoubleComplex
struct alignas(8) ComplexFloat {
  float re, im;
};
struct alignas(16) ComplexDouble {
  double re, im;
};

// What the library reports as its version: the newest of each major version whose functions it knows.
#if TUTTI_BLAS_MAJOR == 12
inline constexpr int kVersion = 120900;
#else
inline constexpr int kVersion = 130000;
#endif

}  // namespace tutti::blas

#define BLAS_EXPORT extern "C" __attribute__((visibility("default"))) int
