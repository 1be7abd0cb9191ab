#include "client/array/tensor_map.h"

#include <cstring>

#include "client/base/answer.h"
#include "client/base/complaint.h"
#include "guest/tensor_map.h"

namespace tutti::client {
namespace {

using namespace tutti::cuda;
using guest::TensorMap;

constexpr uint64_t kMostElements = uint64_t{1} << 32;  // of one dimension

template <typename... Args>
int Wrong(fmt::format_string<Args...> text, Args&&... args) {
  return Complain(CUDA_ERROR_INVALID_VALUE, "tensor map: {}", fmt::format(text, std::forward<Args>(args)...));
}

bool IsPacked(CUtensorMapDataType type) { return type >= CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B; }
bool IsAligned(const void* address, uint64_t bytes) { return reinterpret_cast<uint64_t>(address) % bytes == 0; }

// What tiled and im2col maps have in common.
int CheckCommon(const CUtensorMap* out, const TensorMapDescription& given) {
  if (out == nullptr || given.sizes == nullptr || (given.rank > 1 && given.strides == nullptr) ||
      given.element_strides == nullptr)
    return Wrong("an argument is null");
  if (!IsAligned(out, guest::kTensorMapAlignment)) return Wrong("the map must be aligned to 64 bytes");
  if (given.type < 0 || given.type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B) return Wrong("no such data type");
  if (given.interleave < 0 || given.interleave > CU_TENSOR_MAP_INTERLEAVE_32B)
    return Wrong("no such interleaved layout");
  if (given.swizzle < 0 || given.swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B) return Wrong("no such swizzle");
  if (given.promotion < 0 || given.promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B) return Wrong("no such L2 promotion");
  if (given.fill < 0 || given.fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA) return Wrong("no such fill");
  const bool is_float = !IsPacked(given.type) && guest::IsFloatTensorType(static_cast<uint8_t>(given.type));
  if (given.fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && !is_float) return Wrong("only floats are filled with NaN");
  const bool interleaves = given.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE;
  if (given.rank == 0 || given.rank > guest::kMostDimensions || (interleaves && given.rank < 3))
    return Wrong("a tensor has no {} dimensions", given.rank);
  const bool wide = given.interleave == CU_TENSOR_MAP_INTERLEAVE_32B;
  if (wide && given.swizzle != CU_TENSOR_MAP_SWIZZLE_32B)
    return Wrong("32-byte interleave needs a swizzle of 32 bytes");
  const uint64_t alignment = wide || given.type >= CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B ? 32 : 16;
  if (!IsAligned(given.address, alignment)) return Wrong("the address must be a multiple of {}", alignment);
  for (uint32_t i = 0; i < given.rank; ++i) {
    if (given.sizes[i] == 0 || given.sizes[i] > kMostElements)
      return Wrong("dimension {} has {} elements", i, given.sizes[i]);
    if (i > 0 && (given.strides[i - 1] % alignment != 0 || given.strides[i - 1] >= guest::kMostTensorStride))
      return Wrong("the stride of dimension {} is {}: it must be a multiple of {} below 2^40", i, given.strides[i - 1],
                   alignment);
    if (i == 0 && !interleaves) continue;
    if (given.element_strides[i] == 0 || given.element_strides[i] > guest::kMostElementStride)
      return Wrong("the element stride of dimension {} is {}, not 1 to 8", i, given.element_strides[i]);
  }
  return CUDA_SUCCESS;
}

// `elements` of the inner dimension, as rows in shared memory.
int CheckRow(const TensorMapDescription& given, uint32_t elements) {
  if (given.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE)
    return Complain(CUDA_ERROR_NOT_SUPPORTED, "tensor maps with an interleaved layout are not supported");
  if (IsPacked(given.type))
    return Complain(CUDA_ERROR_NOT_SUPPORTED, "tensor maps of packed 4 and 6 bit numbers are not supported");
  const uint32_t bytes = elements * guest::BytesOfTensorType(static_cast<uint8_t>(given.type));
  const uint32_t span = guest::SpanOfSwizzle(static_cast<uint8_t>(given.swizzle));
  if (bytes % 16 != 0) return Wrong("the box is {} bytes wide, no multiple of 16", bytes);
  if (span != 0 && bytes > span) return Wrong("the box is {} bytes wide, more than the {} of its swizzle", bytes, span);
  return CUDA_SUCCESS;
}

TensorMap Begin(const TensorMapDescription& given) {
  TensorMap map{};
  map.magic = guest::kTensorMapMagic;
  map.address = reinterpret_cast<uint64_t>(given.address);
  map.rank = static_cast<uint8_t>(given.rank);
  map.type = static_cast<uint8_t>(given.type);
  map.swizzle = static_cast<uint8_t>(given.swizzle);
  map.fills_with_nan = static_cast<uint8_t>(given.fill);
  for (uint32_t i = 0; i < given.rank; ++i) {
    map.sizes[i] = static_cast<uint32_t>(given.sizes[i]);  // 2^32 becomes 0
    map.element_strides[i] = i == 0 ? 1 : static_cast<uint8_t>(given.element_strides[i]);
    if (i > 0) map.strides[i - 1] = given.strides[i - 1];
  }
  return map;
}

void Write(CUtensorMap* out, const TensorMap& map) {
  static_assert(sizeof *out == sizeof map);
  std::memcpy(out, &map, sizeof map);
}

}  // namespace

int EncodeTiled(CUtensorMap* out, const TensorMapDescription& given, const uint32_t* box) {
  CU_TRY(CheckCommon(out, given));
  if (box == nullptr) return Wrong("an argument is null");
  for (uint32_t i = 0; i < given.rank; ++i) {
    if (box[i] == 0 || box[i] > guest::kMostBoxElements)
      return Wrong("the box has {} elements along dimension {}, not 1 to 256", box[i], i);
  }
  CU_TRY(CheckRow(given, box[0]));
  TensorMap map = Begin(given);
  map.mode = static_cast<uint8_t>(guest::TensorMode::kTile);
  for (uint32_t i = 0; i < given.rank; ++i) map.box[i] = static_cast<uint16_t>(box[i]);
  Write(out, map);
  return CUDA_SUCCESS;
}

int EncodeIm2col(CUtensorMap* out, const TensorMapDescription& given, const Im2colBox& box) {
  CU_TRY(CheckCommon(out, given));
  if (box.lower == nullptr || box.upper == nullptr) return Wrong("an argument is null");
  if (given.rank < 3) return Wrong("im2col needs 3 to 5 dimensions, not {}", given.rank);
  if (box.channels == 0 || box.channels > guest::kMostBoxElements) return Wrong("{} channels per pixel", box.channels);
  if (box.pixels == 0 || box.pixels > guest::kMostPixels) return Wrong("{} pixels per column", box.pixels);
  const int least = given.rank == 3 ? -32768 : given.rank == 4 ? -128 : -16;
  TensorMap map = Begin(given);
  for (uint32_t i = 0; i < given.rank - 2; ++i) {
    for (const int corner : {box.lower[i], box.upper[i]}) {
      if (corner < least || corner >= -least) return Wrong("a corner of the box at {} is out of range", corner);
    }
    if (static_cast<int64_t>(given.sizes[i + 1]) + box.upper[i] <= box.lower[i])
      return Wrong("the box is empty along dimension {}", i + 1);
    map.lower[i] = static_cast<int16_t>(box.lower[i]);
    map.upper[i] = static_cast<int16_t>(box.upper[i]);
  }
  CU_TRY(CheckRow(given, box.channels));
  map.mode = static_cast<uint8_t>(guest::TensorMode::kIm2col);
  map.channels = static_cast<uint16_t>(box.channels);
  map.pixels = static_cast<uint16_t>(box.pixels);
  Write(out, map);
  return CUDA_SUCCESS;
}

int ReplaceTensorAddress(CUtensorMap* out, const void* address) {
  if (out == nullptr) return Wrong("an argument is null");
  TensorMap map;
  std::memcpy(&map, out, sizeof map);
  if (!guest::IsValid(map)) return Wrong("it is none");
  if (!IsAligned(address, 16)) return Wrong("the address must be a multiple of 16");
  map.address = reinterpret_cast<uint64_t>(address);
  Write(out, map);
  return CUDA_SUCCESS;
}

}  // namespace tutti::client
