// SMs of a device as a resource that programs split and pass around (CUdevResource), for green contexts.
//
// A resource is a range of SM numbers. A context made from it gets that many SMs of the process's share. Ranges of one
// split do not overlap.
#pragma once

#include <cstdint>

#include "client/base/answer.h"
#include "client/base/pool.h"
#include "cuda/types.h"

namespace tutti::client {

class Device;

struct SmResource {
  Device* device = nullptr;
  uint32_t first_sm = 0;
  uint32_t count = 0;

  // All SMs of the device that the process may use.
  static SmResource Of(Device& device);
  // INVALID_RESOURCE_TYPE for other types, INVALID_VALUE for one that we did not make.
  static Answer<SmResource> Read(const cuda::CUdevResource& resource);
  // Type invalid if it has no SM.
  void Write(cuda::CUdevResource* out) const;
};

// Joined resources, from which a green context is made. Lives as long as the process: the API has no call that destroys
// it.
class ResourceDescription {
 public:
  explicit ResourceDescription(const SmResource& joined) : joined_(joined) {}

  static ResourceDescription* Find(const void* handle) { return pool_.Find(handle); }
  static ResourceDescription* Create(const SmResource& joined) { return pool_.Create(joined); }
  cuda::CUdevResourceDesc handle() { return reinterpret_cast<cuda::CUdevResourceDesc>(this); }
  const SmResource& joined() const { return joined_; }

 private:
  static constinit Pool<ResourceDescription, 1 << 16> pool_;

  const SmResource joined_;
};

}  // namespace tutti::client
