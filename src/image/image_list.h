// A container of several images that are linked into one module: what the client sends if a program gives it more than
// one (separately compiled translation units, cuLinkAddData).
//
//   u32 kImageListMagic, u32 count, then per image: u64 size, the bytes, zeros up to a multiple of 8.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"

namespace tutti::image {

inline constexpr uint32_t kImageListMagic = 0x54534c49;  // "ILST"
inline constexpr uint32_t kMaxImages = 65536;

std::vector<uint8_t> PackImageList(std::span<const std::span<const uint8_t>> images);
// The images, as views into `bytes`. Error: CUDA_ERROR_INVALID_IMAGE.
Result<std::vector<std::span<const uint8_t>>> ReadImageList(std::span<const uint8_t> bytes);

}  // namespace tutti::image
