// Checks the device before anything is measured: is there one, may it be shared, is it free.
#pragma once

#include "frame/probe.h"

namespace tutti::gpu {

// Its one step ends with kLookStatus + a Verdict if the run may not begin.
const Probe& LookProbe();
inline constexpr int kLookStatus = 100;

}  // namespace tutti::gpu
