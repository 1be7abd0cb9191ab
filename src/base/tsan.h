// Happens-before edges that pass through another process, where the thread sanitizer cannot see them. A no-op in other
// builds.
#pragma once

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define TUTTI_TSAN_INTERFACE 1
#endif
#endif

namespace tutti {

// What this thread has done so far happens before what any thread does after OrderedAfter(`place`).
inline void OrderedBefore([[maybe_unused]] void* place) {
#ifdef TUTTI_TSAN_INTERFACE
  __tsan_release(place);
#endif
}
inline void OrderedAfter([[maybe_unused]] void* place) {
#ifdef TUTTI_TSAN_INTERFACE
  __tsan_acquire(place);
#endif
}

}  // namespace tutti
