// The probes, by their numbers in the plan of the GPU backend.
#pragma once

#include "frame/probe.h"

namespace tutti::gpu {

extern const Probe kP1, kP2, kP3, kP4, kP5, kP6, kP7, kP8, kP9, kP10, kP11, kP12;
extern const Probe kP13, kP14, kP15, kP16, kP17, kP18, kP19, kP20, kP21, kP22, kP23, kP24;

}  // namespace tutti::gpu
