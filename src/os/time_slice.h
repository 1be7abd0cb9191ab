// Unprivileged hints to the kernel's fair scheduler.
#pragma once

#include <cstdint>

namespace tutti::os {

// Requests a time slice for the calling thread, 0.1 ms to 100 ms (Linux 6.12 and later; earlier kernels ignore it). Its
// total share of time does not change. A waking thread may preempt one with a longer slice, so threads that compute
// request a long one and threads that others wait for a short one.
void RequestTimeSlice(uint64_t ns);

// Raises the calling thread's niceness by `nice` steps (0 to 19).
void BeNicer(uint32_t nice);

}  // namespace tutti::os
