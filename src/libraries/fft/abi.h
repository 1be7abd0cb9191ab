// The numbers of cuFFT's interface, the same in versions 11 and 12.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::fft {

enum class FftResult : int {
  kSuccess = 0,
  kInvalidPlan = 1,
  kAllocFailed = 2,
  kInvalidType = 3,
  kInvalidValue = 4,
  kInternalError = 5,
  kExecFailed = 6,
  kSetupFailed = 7,
  kInvalidSize = 8,
  kNoWorkspace = 13,
  kNotSupported = 16,
};

using FftHandle = int;
inline constexpr FftHandle kNullPlan = -1;

// cufftType: the letters of a transform, packed.
enum FftType : int { kC2C = 0x29, kR2C = 0x2a, kC2R = 0x2c, kZ2Z = 0x69, kD2Z = 0x6a, kZ2D = 0x6c };

inline constexpr int kForward = -1, kInverse = 1;

// cudaDataType, as far as transforms of single and double precision go.
enum DataType : int { kReal32 = 0, kReal64 = 1, kComplex32 = 4, kComplex64 = 5 };
// Of 16 bits: half and bfloat16.
inline constexpr int kReal16 = 2, kComplex16 = 6, kReal16Brain = 14, kComplex16Brain = 15;

// The version that this library answers for: 1000 times the major one (version.cc, one for each shared library).
int FftVersion();

// libraryPropertyType.
inline constexpr int kMajorVersion = 0, kMinorVersion = 1, kPatchLevel = 2;

}  // namespace tutti::fft
