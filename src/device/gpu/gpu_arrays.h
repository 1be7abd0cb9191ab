// A Space's arrays and textures (wire/arrays.h): what the executor's driver has made, by addresses and numbers that the
// client knows. Thread-safe.
//
// Only the driver has what is in an array, and textures have its numbers: so a client that has any is bound to its
// executor.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "device/gpu/current_executor.h"
#include "device/gpu/gpu_memory.h"
#include "wire/arrays.h"

namespace tutti::device::gpu {

class GpuArrays {
 public:
  explicit GpuArrays(CurrentExecutor* executor) : executor_(executor) {}

  // Its first address, which `memory` has reserved, and counts what the array takes.
  Result<uint64_t> Create(const wire::ArrayShape& shape, GpuMemory& memory);
  // The array that begins there, if one does: it is freed, and nobody uses it any more.
  void Retire(uint64_t address, GpuMemory& memory);
  void Release(uint64_t address, GpuMemory& memory);
  Result<uint64_t> CreateTexture(const wire::TextureCreateBody& texture, const GpuMemory& memory);
  // The client has it no more; the executor destroys it when what is returned is dropped. Until then work may use it.
  Result<std::shared_ptr<const void>> DestroyTexture(const wire::TextureDestroyBody& texture);

  // A side of a copy: where it touches the addresses of an array, whether it is a box of that.
  enum class Touches : uint8_t { kNone, kBox, kNoBox };
  Touches Find(uint64_t address, wire::ArrayLayout::Rows rows) const;

  // There are none any more: the executor is lost.
  void Forget(GpuMemory& memory);
  // Why no other executor could have what this one has by them; nothing: it can. Does not wait.
  std::optional<std::string> WhyBound() const;

 private:
  struct Array {
    wire::ArrayLayout layout;
    uint64_t counted = 0;  // bytes
    bool retired = false;
  };
  using ArraysByAddress = std::map<uint64_t, Array>;  // their first ones
  using TextureName = std::pair<uint64_t, bool>;  // its number, and whether it is a surface
  struct Texture {
    uint64_t serial;  // the next executor may give the same number
    bool retired = false;
  };
  void ReleaseTexture(TextureName name, uint64_t serial);
  ArraysByAddress::const_iterator ArrayAround(uint64_t address) const;  // the end: it is of none

  CurrentExecutor* const executor_;
  mutable std::mutex mutex_;
  ArraysByAddress arrays_;
  std::map<TextureName, Texture> textures_;
  uint64_t made_ = 0;  // textures
  std::atomic<bool> has_arrays_{false};
};

}  // namespace tutti::device::gpu
