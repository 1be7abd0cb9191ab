#include "device/compile/image_store.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace tutti::device {

std::shared_ptr<const ImageStore::Image> ImageStore::Kept(std::span<const uint8_t> bytes) {
  const std::lock_guard lock(mutex_);
  for (const auto& [hash, image] : images_) {
    if (auto held = image.lock(); held != nullptr && held->data() == bytes.data() && held->size() == bytes.size())
      return held;
  }
  return nullptr;
}

std::shared_ptr<const ImageStore::Image> ImageStore::Keep(std::span<const uint8_t> bytes) {
  const size_t hash = std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  // Images may be large: they are compared and copied without the lock, so two clients at once may each make a copy.
  std::vector<std::shared_ptr<const Image>> candidates;
  {
    const std::lock_guard lock(mutex_);
    const auto [first, end] = images_.equal_range(hash);
    for (auto entry = first; entry != end; ++entry) {
      if (auto held = entry->second.lock()) candidates.push_back(std::move(held));
    }
  }
  for (auto& candidate : candidates) {
    if (std::ranges::equal(*candidate, bytes)) return std::move(candidate);
  }
  auto image = std::make_shared<const Image>(bytes.begin(), bytes.end());
  const std::lock_guard lock(mutex_);
  if (images_.size() >= forget_at_) {
    std::erase_if(images_, [](const auto& entry) { return entry.second.expired(); });
    forget_at_ = 2 * images_.size() + 64;
  }
  images_.emplace(hash, image);
  return image;
}

}  // namespace tutti::device
