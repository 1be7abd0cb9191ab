// The CPU device and the conformance suite.
#include "device/cpu/cpu_backend.h"
#include "device/cts/conformance.h"
#include "device/cts/kernels.h"

namespace tutti::device::cts {

const BackendCase& BackendUnderTest() {
  static const BackendCase backend{
      .create = [] { return cpu::CreateCpuBackend({.devices = 1, .sms = 2, .memory_bytes = 64 << 20}, NewTestCode()); },
      .never = {},
      .not_yet = {},
  };
  return backend;
}

}  // namespace tutti::device::cts
