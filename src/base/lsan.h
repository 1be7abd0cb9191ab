// Tells the leak sanitizer about memory that it does not scan by itself. A no-op in other builds.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define TUTTI_LSAN_INTERFACE 1
#endif
#endif

namespace tutti {

// Scans [begin, begin + bytes), a mapping that is never unmapped, for pointers: what they refer to is no leak.
inline void HoldsPointers([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#ifdef TUTTI_LSAN_INTERFACE
  __lsan_register_root_region(begin, bytes);
#endif
}

}  // namespace tutti
