// The sections `sharing_today` and `tutti`.
#pragma once

#include "frame/probe.h"

namespace tutti::gpu {

extern const Probe kS1, kS2;
extern const Probe kT1, kT2, kT3, kT4, kT5, kT6;

}  // namespace tutti::gpu
