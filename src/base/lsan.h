// Memory that the leak sanitizer does not look into by itself. Nothing at all in other builds.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define TUTTI_LSAN_INTERFACE 1
#endif
#endif

namespace tutti {

// What is pointed to from [begin, begin + bytes), which was mapped and is never unmapped, is no leak.
inline void HoldsPointers([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#ifdef TUTTI_LSAN_INTERFACE
  __lsan_register_root_region(begin, bytes);
#endif
}

}  // namespace tutti
