// The floor of preemption: what the machine needs for the same wakes without a device.
#pragma once

#include <cstdint>
#include <vector>

namespace bench {

// A process with a thread for each core that computes, with the niceness and the slice of an SM's thread, and one that
// sleeps until the caller rings; that one signals a computing thread, whose handler notes the time. The caller rings
// once in `period_us` and waits, after a short spin, until it is told. Returns the times in ns from each ring to the
// handler, sorted.
std::vector<uint64_t> BarePreemptionsOver(double seconds, uint64_t period_us);

}  // namespace bench
