// The section `native`: what one process has of the device with the vendor's driver alone.
#pragma once

#include "frame/probe.h"

namespace tutti::gpu {

extern const Probe kN1, kN2;

}  // namespace tutti::gpu
