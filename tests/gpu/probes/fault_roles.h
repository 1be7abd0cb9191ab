// The processes that take part when a fault is provoked: the culprit, and a bystander that works all the time.
#pragma once

#include <cstdint>
#include <string_view>

#include "frame/channel.h"

namespace tutti::gpu {

// A slab that a culprit shares with its owner has three parts of this size: written by the owner long ago (seed 1),
// written by the culprit and known to be finished (2), and written by the kernel right before the one that fails, for
// which nobody has waited (3).
uint64_t SlabPartBytes();

// Hears "slab" with a descriptor or without, says "ready", hears "go", and fails in the way that `kind` names. Says
// "fault": the first error, the milliseconds until it was seen, the instant of the launch in ns, the sticky error. Ends
// at the next word.
void RunCulprit(Channel& step, std::string_view kind);

// Says "ready" and launches kernels of 20 us, each waited for, until it hears "report" with an instant. Says "report":
// its result, how long a kernel usually takes in ms, the longest before the instant, the longest since.
void RunBystander(Channel& step, std::string_view);

}  // namespace tutti::gpu
