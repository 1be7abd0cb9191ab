// The section `sharing_today`.
#pragma once

#include "frame/probe.h"

namespace tutti::gpu {

extern const Probe kS1, kS2;

}  // namespace tutti::gpu
