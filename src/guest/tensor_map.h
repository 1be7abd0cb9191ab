// What a CUtensorMap holds: 128 bytes that are opaque to programs and may lie in parameters, constants or global memory
// of the client. The driver's functions write one, tensormap.replace changes one, and kernels read one for every copy.
// Nothing trusts it: whoever uses a map copies it, asks IsValid, and checks each address that it leads to like any
// other of the client's.
//
// Stands alone: part of it is compiled for kernels (compiler/runtime).
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace tutti::guest {

inline constexpr uint32_t kMostDimensions = 5;
inline constexpr uint32_t kMostBoxElements = 256;  // along one dimension
inline constexpr uint32_t kMostPixels = 1024;
inline constexpr uint32_t kMostElementStride = 8;
inline constexpr uint32_t kTensorMapAlignment = 64;  // of the map itself
inline constexpr uint32_t kTileAlignment = 128;  // in shared memory, of a box that is copied
inline constexpr uint64_t kMostTensorStride = uint64_t{1} << 40;
inline constexpr uint64_t kTensorMapMagic = 0x70616d72'6f736e54;  // of this layout

// Numbers of types, layouts and swizzles are those of CUtensorMapDataType, CUtensorMapInterleave and
// CUtensorMapSwizzle.
enum class TensorType : uint8_t {
  kU8,
  kU16,
  kU32,
  kS32,
  kU64,
  kS64,
  kF16,
  kF32,
  kF64,
  kBF16,
  kF32Ftz,
  kTF32,
  kTF32Ftz,
};
inline constexpr uint32_t kTensorTypes = 13;  // packed types (16U4, 16U6) follow, which are not supported

enum class TensorSwizzle : uint8_t { kNone, k32B, k64B, k128B, k128BAtom32B, k128BAtom32BFlip8B, k128BAtom64B };
inline constexpr uint32_t kTensorSwizzles = 7;

// How the elements to copy are found.
enum class TensorMode : uint8_t { kTile, kIm2col };

struct TensorMap {
  uint64_t magic;
  uint64_t address;  // of the first element
  uint64_t strides[4];  // bytes from element to element along dimensions 1 to 4; along 0 they are neighbours
  uint32_t sizes[5];  // elements along each dimension; 0: 2^32
  uint16_t box[5];  // kTile: elements to traverse along each dimension
  int16_t lower[3];  // kIm2col: corners of the bounding box, of W, H and D: relative to the first and the last pixel
  int16_t upper[3];
  uint16_t channels;  // kIm2col: elements along C, and pixels, to copy
  uint16_t pixels;
  uint8_t element_strides[5];  // of the traversal
  uint8_t rank;  // dimensions, 1 to 5
  uint8_t type;  // TensorType
  uint8_t interleave;  // 0: none, the only one that is supported
  uint8_t swizzle;  // TensorSwizzle
  uint8_t fills_with_nan;  // what is outside of the tensor: zeros otherwise
  uint8_t mode;  // TensorMode
  uint8_t reserved[23];
};
static_assert(sizeof(TensorMap) == 128 && offsetof(TensorMap, reserved) == 105);

inline constexpr uint32_t BytesOfTensorType(uint8_t type) {
  switch (static_cast<TensorType>(type)) {
    case TensorType::kU8: return 1;
    case TensorType::kU16:
    case TensorType::kF16:
    case TensorType::kBF16: return 2;
    case TensorType::kU64:
    case TensorType::kS64:
    case TensorType::kF64: return 8;
    default: return 4;
  }
}
inline constexpr bool IsFloatTensorType(uint8_t type) { return type >= static_cast<uint8_t>(TensorType::kF16); }

inline constexpr uint64_t SizeOfDimension(const TensorMap& map, uint32_t dimension) {
  return map.sizes[dimension] == 0 ? uint64_t{1} << 32 : map.sizes[dimension];
}

// Bytes that a row of a box may have at most, and takes in shared memory, under a swizzle; 0: any number.
inline constexpr uint32_t SpanOfSwizzle(uint8_t swizzle) {
  switch (static_cast<TensorSwizzle>(swizzle)) {
    case TensorSwizzle::kNone: return 0;
    case TensorSwizzle::k32B: return 32;
    case TensorSwizzle::k64B: return 64;
    default: return 128;
  }
}

// What the driver promises of a map, as far as kernels rely on it.
inline constexpr bool IsValid(const TensorMap& map) {
  if (map.magic != kTensorMapMagic || map.rank < 1 || map.rank > kMostDimensions || map.type >= kTensorTypes ||
      map.interleave != 0 || map.swizzle >= kTensorSwizzles || map.fills_with_nan > 1 || map.address % 16 != 0 ||
      map.mode > static_cast<uint8_t>(TensorMode::kIm2col))
    return false;
  for (uint32_t i = 0; i < map.rank; ++i) {
    if (i > 0 && (map.strides[i - 1] % 16 != 0 || map.strides[i - 1] >= kMostTensorStride)) return false;
    if (i > 0 && (map.element_strides[i] == 0 || map.element_strides[i] > kMostElementStride)) return false;
  }
  uint32_t row = map.channels;
  if (map.mode == static_cast<uint8_t>(TensorMode::kTile)) {
    row = map.box[0];
    for (uint32_t i = 0; i < map.rank; ++i) {
      if (map.box[i] == 0 || map.box[i] > kMostBoxElements) return false;
    }
  } else if (map.rank < 3 || row == 0 || row > kMostBoxElements || map.pixels == 0 || map.pixels > kMostPixels) {
    return false;
  }
  const uint32_t row_bytes = row * BytesOfTensorType(map.type), span = SpanOfSwizzle(map.swizzle);
  return row_bytes % 16 == 0 && (span == 0 || row_bytes <= span);
}

}  // namespace tutti::guest
