// The services that compiled kernels call (guest/kernel_abi.h). All of them run on guest stacks.
#pragma once

#include "guest/kernel_abi.h"

namespace tutti::device::cpu {

extern const guest::GuestServices kGuestServices;

}  // namespace tutti::device::cpu
