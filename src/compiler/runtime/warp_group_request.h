// What a kernel asks of tutti_wgmma_*, as bits of one number: shared by lowering and the guest runtime.
#pragma once

#include <stdint.h>

namespace tutti::guest_runtime {

enum WarpGroupRequest : uint32_t {
  kColumnsMask = 0x1ff,  // N, a multiple of 8
  kNegates = 1u << 9,  // the product
  kLeftIsAcross = 1u << 10,  // A is stored with neighbours along M, not K
  kRightIsAcross = 1u << 11,  // B is stored with neighbours along N, not K
  kLeftInRegisters = 1u << 12,
};

}  // namespace tutti::guest_runtime
