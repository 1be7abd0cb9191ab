// Texture and surface objects that the device makes (wire/arrays.h): their handles are the device's numbers.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "client/array/texture.h"
#include "client/base/answer.h"
#include "client/memory/allocation_table.h"

namespace tutti::client {

class Context;

// Thread-safe.
class DeviceTextures {
 public:
  static DeviceTextures& Get();

  // `kind`: kTexture or kSurface. Of the descriptors of the program in `record`, which queries return.
  Answer<uint64_t> Create(Context& context, AllocationKind kind, const TextureRecord& record);
  // False: there is no such object. Work submitted before may still use it.
  bool Destroy(uint64_t handle, AllocationKind kind);
  std::optional<TextureRecord> Find(uint64_t handle, AllocationKind kind) const;
  // Of a context that ends.
  void DestroyAllOf(const Context& context);
  // For a new session.
  void StartAgain();

 private:
  using Name = std::pair<AllocationKind, uint64_t>;  // kTexture or kSurface, and the handle
  struct Object {
    const Context* context;
    TextureRecord record;
  };

  mutable std::mutex mutex_;
  std::map<Name, Object> objects_;
};

}  // namespace tutti::client
