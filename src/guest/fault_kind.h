// Why a kernel ended early, on any device.
#pragma once

#include <stdint.h>

namespace tutti::guest {

// Why it ended. Values are CUresults.
enum class FaultKind : uint32_t {
  kIllegalAddress = 700,
  kAssert = 710,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailed = 719,  // trap
};

}  // namespace tutti::guest
