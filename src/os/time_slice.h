// How long a thread wants to run at a stretch, as a hint to the kernel's fair scheduler (Linux 6.12 and later; earlier ones
// ignore it). It changes nothing about how much a thread gets in all. A thread that wakes preempts one with a longer
// slice at once; so threads that compute ask for a long one, threads that others wait for ask for a short one.
#pragma once

#include <cstdint>

namespace tutti::os {

// Of the calling thread; 0.1 ms to 100 ms.
void RequestTimeSlice(uint64_t ns);

}  // namespace tutti::os
