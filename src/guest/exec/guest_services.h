// The services that compiled kernels call (guest/cpu/kernel_abi.h). All of them run on guest stacks.
#pragma once

#include "guest/cpu/kernel_abi.h"

namespace tutti::guest {

extern const GuestServices kGuestServices;

// FaultRecord::text of such a fault.
const char* TextOf(WarpMistake what);

}  // namespace tutti::guest
