// What a thread asks of the kernel's fair scheduler: hints that need no privilege.
#pragma once

#include <cstdint>

namespace tutti::os {

// How long the calling thread wants to run at a stretch; 0.1 ms to 100 ms (Linux 6.12 and later; earlier ones ignore
// it). It changes nothing about how much a thread gets in all. A thread that wakes may preempt one with a longer slice;
// so threads that compute ask for a long one, threads that others wait for ask for a short one.
void RequestTimeSlice(uint64_t ns);

// The calling thread gives way to others by `nice` steps more (0 to 19) than it does.
void BeNicer(uint32_t nice);

}  // namespace tutti::os
