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

// For numbers from elsewhere, generated code included.
inline bool IsFaultKind(uint32_t number) {
  switch (static_cast<FaultKind>(number)) {
    case FaultKind::kIllegalAddress:
    case FaultKind::kAssert:
    case FaultKind::kHardwareStackError:
    case FaultKind::kIllegalInstruction:
    case FaultKind::kMisalignedAddress:
    case FaultKind::kInvalidAddressSpace:
    case FaultKind::kInvalidPc:
    case FaultKind::kLaunchFailed: return true;
  }
  return false;
}

}  // namespace tutti::guest
