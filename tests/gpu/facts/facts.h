#pragma once

#include "frame/probe.h"

namespace tutti::gpu {

extern const Probe kFacts;

}  // namespace tutti::gpu
