// The CPU device and the conformance suite.
#include "device/compile/code_settings.h"
#include "device/compile/code_store.h"
#include "device/compile/compiler_host.h"
#include "device/cpu/cpu_backend.h"
#include "device/cts/conformance.h"

namespace tutti::device::cts {
namespace {

std::unique_ptr<Backend> Create() {
  static const auto compilers = [] {
    CodeSettings settings;
    settings.compiler = TUTTI_COMPILER;
    return std::pair(settings, CompilerHost::Start(settings).value());
  }();
  return cpu::CreateCpuBackend({.devices = 1, .sms = 2, .memory_bytes = 64 << 20},
                               CreateCodeStore(compilers.first, compilers.second));
}

}  // namespace

const BackendCase& BackendUnderTest() {
  static const BackendCase backend{
      .create = Create,
      .never = {},
      .not_yet = {},
  };
  return backend;
}

}  // namespace tutti::device::cts
