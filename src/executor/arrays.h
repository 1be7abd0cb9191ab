// The arrays and textures that the driver has made for a client, by the addresses and numbers that the server knows
// them by (wire/arrays.h), and copies from and to arrays.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "executor/vendor.h"
#include "wire/arrays.h"

namespace tutti::executor {

// Thread-safe; the vendor's context is current in all threads.
class Arrays {
 public:
  explicit Arrays(const Vendor& vendor) : vendor_(vendor) {}

  Status Create(uint64_t address, const wire::ArrayShape& shape);
  // When nothing uses it any more.
  Status Destroy(uint64_t address);
  // What names it in kernels.
  Result<uint64_t> CreateTexture(const wire::TextureCreateBody& texture);
  Status DestroyTexture(uint64_t number, bool is_surface);
  // Goes on after what fails, and returns the first of that.
  Status DestroyAll();

  // Whether it is an address of an array.
  bool Holds(uint64_t address) const { return any_.load(std::memory_order_relaxed) && Find(address) != nullptr; }
  // Of which a side is a box of an array.
  Status Copy(cuda::CUstream stream, const wire::CopyBody& copy) const;

 private:
  struct Array {
    uint64_t address;
    wire::ArrayShape shape;
    wire::ArrayLayout layout;
    cuda::CUmipmappedArray mipmapped = nullptr;  // null: it is none, and has one level
    std::vector<cuda::CUarray> levels;
  };
  using Texture = std::pair<uint64_t, bool>;  // a number, and whether it is that of a surface object
  // Of a copy: a box of an array, or memory.
  struct Side {
    std::shared_ptr<const Array> array;  // null: memory
    wire::ArrayLayout::Box box;
    uint64_t address = 0;
    uint64_t pitch = 0, plane = 0;
    uint64_t height = 0;  // rows from plane to plane
    bool by_planes = false;  // that is no whole number: each plane is copied apart
  };

  std::shared_ptr<const Array> Find(uint64_t address) const;  // null: there is none
  Status Make(Array& array) const;
  Status Free(const Array& array) const;
  Status Free(const Texture& texture) const;
  Result<Side> SideAt(uint64_t address, wire::ArrayLayout::Rows rows) const;
  Result<cuda::CUDA_RESOURCE_DESC> ResourceOf(const wire::TextureCreateBody& texture,
                                              const std::shared_ptr<const Array>& array) const;

  const Vendor& vendor_;
  std::atomic<bool> any_{false};  // there has been an array
  mutable std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<const Array>> arrays_;  // by their first address
  std::set<Texture> textures_;
};

}  // namespace tutti::executor
