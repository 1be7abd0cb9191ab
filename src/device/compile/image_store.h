// Deduplicates images of modules: one copy of each, however many clients have loaded it, freed with its last holder.
// Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace tutti::device {

class ImageStore {
 public:
  using Image = std::vector<uint8_t>;

  std::shared_ptr<const Image> Keep(std::span<const uint8_t> bytes);
  // The image whose bytes these are, not a copy of them; null: none. Cheap.
  std::shared_ptr<const Image> Kept(std::span<const uint8_t> bytes);

 private:
  std::mutex mutex_;
  std::unordered_multimap<size_t, std::weak_ptr<const Image>> images_;  // by hash
  size_t forget_at_ = 64;
};

}  // namespace tutti::device
