#include "client/module/image.h"

#include <cstring>

#include "base/checked.h"
#include "base/log.h"
#include "image/extent.h"
#include "image/image_list.h"

namespace tutti::client {
namespace {

// The linker's list lies in this process's own memory, so its sizes can be trusted.
ImageParts WalkList(const uint8_t* list) {
  uint32_t count;
  std::memcpy(&count, list + sizeof(uint32_t), sizeof count);
  ImageParts parts;
  const uint8_t* at = list + 2 * sizeof(uint32_t);
  for (uint32_t i = 0; i < count && i < image::kMaxImages; ++i) {
    uint64_t bytes;
    std::memcpy(&bytes, at, sizeof bytes);
    parts.emplace_back(at + sizeof bytes, bytes);
    at += sizeof bytes + AlignUp<uint64_t>(bytes, 8);
  }
  return parts;
}

}  // namespace

Answer<ImageParts> FindImage(const void* image) {
  if (image == nullptr) return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  if (std::memcmp(image, &image::kImageListMagic, sizeof image::kImageListMagic) == 0) {
    return WalkList(static_cast<const uint8_t*>(image));
  }
  auto parts = image::FindImages(image);
  if (parts) return *parts;
  log::Error("a module cannot be loaded: {}", parts.error().text);
  return Refuse(parts.error().code);
}

std::vector<uint8_t> JoinParts(const ImageParts& parts) {
  if (parts.size() == 1) return {parts[0].begin(), parts[0].end()};
  return image::PackImageList(parts);
}

}  // namespace tutti::client
