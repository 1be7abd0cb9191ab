// The device runtime between kernels, the compiler and a device: its functions (device_runtime.def), and one call.
//
// A kernel that calls one has its arguments in words of 8 bytes in the thread's local memory; what the function gives
// back besides its result is written there, too, and stored by the kernel itself, whose stores are checked.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tutti::guest {

enum class RuntimeFunction : uint32_t {
#define RUNTIME_FUNCTION(kind, name, arguments, result, out_bytes) k##kind,
#include "guest/device_runtime.def"
  kCount,
};

enum class RuntimeResult : uint8_t { kStatus, kAddress };

struct RuntimeSignature {
  std::string_view name;
  std::string_view arguments;
  RuntimeResult result;
  uint32_t out_bytes;
};

inline constexpr RuntimeSignature kRuntimeSignatures[] = {
#define RUNTIME_FUNCTION(kind, name, arguments, result, out_bytes) \
  {name, arguments, RuntimeResult::k##result, out_bytes},
#include "guest/device_runtime.def"
};

// Set in the number of a function whose default stream is the calling thread's own.
inline constexpr uint32_t kPerThreadStream = 1u << 16;

// Of an argument, by its letter.
constexpr uint32_t WordsOf(char argument) {
  switch (argument) {
    case 'd': return 2;
    case 'e': return 3;
    case 'p': return 4;
    case 'm': return 20;
    default: return 1;
  }
}

inline constexpr uint32_t kMostRuntimeWords = 21;
inline constexpr uint32_t kMostUpdateBytes = 128;  // in the words behind the fourth

// CUDA's result of a function of the device runtime: those that kernels are given.
enum class RuntimeError : uint32_t {
  kNone = 0,
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kInvalidConfiguration = 9,
  kInvalidPitchValue = 12,
  kLaunchMaxDepthExceeded = 65,
  kLaunchPendingCountExceeded = 69,
  kInvalidDeviceFunction = 98,
  kInvalidDevice = 101,
  kInvalidResourceHandle = 400,
  kLaunchOutOfResources = 701,
  kLaunchFailure = 719,
  kNotSupported = 801,
};

// Calls of one thread of a running block.
struct RuntimeCall {
  RuntimeFunction function;
  bool per_thread_stream;
  uint64_t block;  // index in the grid
  uint32_t thread;  // index in the block
  std::array<uint64_t, kMostRuntimeWords> words;  // the arguments; then what goes out
  RuntimeError error = RuntimeError::kNone;
  uint64_t address = 0;  // of a function that gives one
};

}  // namespace tutti::guest
