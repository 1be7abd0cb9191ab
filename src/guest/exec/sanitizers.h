// Tells the sanitizers about stacks that they did not see being made. Empty in ordinary builds.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_THREAD__)
#define TUTTI_TSAN_FIBERS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TUTTI_TSAN_FIBERS 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define TUTTI_ASAN_STACKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TUTTI_ASAN_STACKS 1
#endif
#endif

#ifdef TUTTI_TSAN_FIBERS
#include <sanitizer/tsan_interface.h>
#endif
#ifdef TUTTI_ASAN_STACKS
#include <sanitizer/asan_interface.h>
#endif

namespace tutti::guest {

#if defined(TUTTI_TSAN_FIBERS) || defined(TUTTI_ASAN_STACKS)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

#ifdef TUTTI_TSAN_FIBERS
// The thread sanitizer's runtime takes locks inside instrumented code, so under it a thread cannot leave guest code at
// any instruction, only at calls of services. It is not even sent the signal: a handler that runs while the runtime
// switches fibers sees neither of them.
inline constexpr bool kAsyncLeave = false;
inline void* SanitizerCurrentFiber() { return __tsan_get_current_fiber(); }
inline void* SanitizerCreateFiber() { return __tsan_create_fiber(0); }
inline void SanitizerDestroyFiber(void* fiber) { __tsan_destroy_fiber(fiber); }
#define TUTTI_SANITIZER_SWITCH(fiber) __tsan_switch_to_fiber((fiber), 0)
#else
inline constexpr bool kAsyncLeave = true;
inline void* SanitizerCurrentFiber() { return nullptr; }
inline void* SanitizerCreateFiber() { return nullptr; }
inline void SanitizerDestroyFiber(void*) {}
#define TUTTI_SANITIZER_SWITCH(fiber) ((void)(fiber))
#endif

// A stack that was abandoned inside functions still carries their poison.
inline void SanitizerForgetStack([[maybe_unused]] void* low, [[maybe_unused]] size_t bytes) {
#ifdef TUTTI_ASAN_STACKS
  __asan_unpoison_memory_region(low, bytes);
#endif
}

}  // namespace tutti::guest

// Not even entry and exit are recorded: functions that never return would fill the sanitizer's own stack of a fiber.
#if defined(__clang__)
#define TUTTI_NO_SANITIZE \
  __attribute__((no_sanitize("thread", "address", "undefined"), disable_sanitizer_instrumentation))
#else
#define TUTTI_NO_SANITIZE __attribute__((no_sanitize("thread"), no_sanitize("address"), no_sanitize("undefined")))
#endif
