// What a kernel asks of tutti_tensor_copy, as bits of one number: shared by lowering and the guest runtime.
#pragma once

#include <stdint.h>

namespace tutti::guest_runtime {

enum class TensorAction : uint32_t { kLoad, kStore, kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor };  // the rest reduce

// Which elements of the tensor, as the instruction says; the map must have been made for it.
enum class TensorAccess : uint32_t {
  kTile,
  kIm2col,
  kRows4,  // .tile::gather4 and .tile::scatter4
};

constexpr uint32_t TensorRequest(TensorAction action, TensorAccess access, uint32_t dimensions) {
  return static_cast<uint32_t>(action) | static_cast<uint32_t>(access) << 4 | dimensions << 8;
}
constexpr TensorAction ActionOf(uint32_t request) { return static_cast<TensorAction>(request & 15); }
constexpr TensorAccess AccessOf(uint32_t request) { return static_cast<TensorAccess>(request >> 4 & 15); }
constexpr uint32_t DimensionsOf(uint32_t request) { return request >> 8 & 15; }

// The operands of 32 lanes, in the frame of the kernel that calls.
struct TensorOperands {
  uint64_t map[32];  // generic addresses of the maps
  uint32_t shared[32];  // where the boxes lie in shared memory of the cluster
  int32_t coordinates[5][32];
  int32_t offsets[3][32];  // of kIm2col: along W, H, D
  uint32_t bytes[32];  // the result: how many were copied, or filled
};

}  // namespace tutti::guest_runtime
