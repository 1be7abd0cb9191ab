// The services that compiled kernels call (guest/cpu/kernel_abi.h). All of them run on guest stacks.
#pragma once

#include "guest/cpu/kernel_abi.h"

namespace tutti::device::cpu {

extern const guest::GuestServices kGuestServices;

}  // namespace tutti::device::cpu
