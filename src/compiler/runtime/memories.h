// The memories that a guest address may lie in, as bits: shared by widening and the guest runtime's checks.
#pragma once

#include <stdint.h>

namespace tutti::guest_runtime {

enum Memory : uint32_t {
  kWindow = 1u << 0,   // the client's device window
  kShared = 1u << 1,   // the block's shared memory
  kLocal = 1u << 2,    // the warp's local memory
  kParams = 1u << 3,   // the kernel's parameters
  kConstants = 1u << 4,  // the module's constants
  kWrites = 1u << 5,  // not a memory: the access writes
};
// Above them: log2 of the alignment that the access needs.
inline constexpr uint32_t kAlignShift = 8;
// And above that, where several addresses are checked: how many bytes of each; 0: none.
inline constexpr uint32_t kBytesShift = 16;

}  // namespace tutti::guest_runtime
