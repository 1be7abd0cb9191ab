// What one process hands to another so that it may use memory or events of the first: the 64 bytes of a CUipcMemHandle,
// a CUipcEventHandle or a CUmemPoolPtrExportData, and what a descriptor from cuMemExportToShareableHandle holds.
//
// It is made and read by client libraries; to programs it is opaque. Whoever knows the secret in it may import the
// memory, as far as the policies of both namespaces allow.
#pragma once

#include <cstdint>

#include "wire/ring_layout.h"

namespace tutti::wire {

enum class ShareKind : uint32_t {
  kMemory = 1,  // cuIpcGetMemHandle, and cuMemExportToShareableHandle
  kEvent = 2,  // its words (client/context/shared_event.h)
  kPool = 3,  // a memory pool: `pool` alone
  kPoolMemory = 4,  // an allocation of a pool
};

struct ShareHandle {
  static constexpr uint64_t kMagic = 0x4552'4148'5354'5554;
  static constexpr uint32_t kVersion = 1;

  uint64_t magic = kMagic;
  uint32_t version = kVersion;
  ShareKind kind = ShareKind::kMemory;
  ExportedMemory memory;
  uint64_t pool = 0;
  uint64_t reserved[2] = {0, 0};
};
static_assert(sizeof(ShareHandle) == 64);

}  // namespace tutti::wire
