#include "image/image_list.h"

#include <cstring>

#include "base/checked.h"
#include "cuda/result.h"

namespace tutti::image {
namespace {

template <typename T>
void Append(std::vector<uint8_t>* out, T value) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  out->insert(out->end(), bytes, bytes + sizeof value);
}

auto CutShort() { return Fail(cuda::CUDA_ERROR_INVALID_IMAGE, "the list of images is cut short"); }

}  // namespace

std::vector<uint8_t> PackImageList(std::span<const std::span<const uint8_t>> images) {
  std::vector<uint8_t> out;
  size_t bytes = 8;
  for (const auto& image : images) bytes += 8 + AlignUp(image.size(), size_t{8});
  out.reserve(bytes);
  Append(&out, kImageListMagic);
  Append(&out, static_cast<uint32_t>(images.size()));
  for (const auto& image : images) {
    Append(&out, uint64_t{image.size()});
    out.insert(out.end(), image.begin(), image.end());
    out.resize(AlignUp(out.size(), size_t{8}));
  }
  return out;
}

Result<std::vector<std::span<const uint8_t>>> ReadImageList(std::span<const uint8_t> bytes) {
  uint32_t head[2];
  if (bytes.size() < sizeof head) return CutShort();
  std::memcpy(head, bytes.data(), sizeof head);
  if (head[0] != kImageListMagic) return Fail(cuda::CUDA_ERROR_INVALID_IMAGE, "this is not a list of images");
  if (head[1] > kMaxImages) return Fail(cuda::CUDA_ERROR_INVALID_IMAGE, "the list has too many images");
  std::vector<std::span<const uint8_t>> images;
  size_t at = sizeof head;
  for (uint32_t i = 0; i < head[1]; ++i) {
    uint64_t size = 0;
    if (bytes.size() - at < sizeof size) return CutShort();
    std::memcpy(&size, bytes.data() + at, sizeof size);
    at += sizeof size;
    if (size > bytes.size() - at) return CutShort();
    images.push_back(bytes.subspan(at, size));
    const size_t padding = (8 - size % 8) % 8;
    at += size;
    if (padding > bytes.size() - at) return CutShort();
    at += padding;
  }
  return images;
}

}  // namespace tutti::image
