// The GPU device and the conformance suite, with our own driver as the vendor's, under the vendor's rules: each client
// with an executor of its own, or, in device_gpu_shared_cts, all in one, or, in device_gpu_fenced_cts, all in one with
// kernels that are fenced.
#include <cstdlib>

#include "device/cts/conformance.h"
#include "device/gpu/gpu_backend.h"
#include "device/gpu/testing/fences.h"
#include "device/gpu/testing/strict_vendor.h"

namespace tutti::device::cts {
namespace {

[[maybe_unused]] const testing::Environment* const no_breaches = testing::AddGlobalTestEnvironment(new gpu::NoBreaches);

std::unique_ptr<Backend> Create() {
  static const gpu::GpuSettings settings{
      .executor = TUTTI_EXECUTOR, .vendor = TUTTI_LIBCUDA, .isolation = gpu::Isolation::TUTTI_ISOLATION};
  sharers_of_clients = "all";
  static const auto spawner = [] {
    setenv("TUTTI_CPU_MEMORY", "64M", 1);
    setenv("TUTTI_CPU_SMS", "2", 1);
    return os::Spawner::Start({settings.ProgramOf(), gpu::CompilerOfTests()}).value();
  }();
  auto backend = gpu::CreateGpuBackend(settings, spawner, TUTTI_FENCED ? gpu::FencesOf(spawner) : nullptr);
  if (!backend) ADD_FAILURE() << backend.error().text;
  return std::move(*backend);
}

}  // namespace

const BackendCase& BackendUnderTest() {
  static const BackendCase backend = [] {
    const char* const no_host = "registered memory of the host may not lie among reserved addresses";
    return BackendCase{
        .create = Create,
        .never = {},
        .not_yet = {{"MemoryOfTheHostIsInAFileThatClientsMayMap", no_host},
                    {"MemoryOfTheHostIsLimitedAndComesBack", no_host}},
    };
  }();
  return backend;
}

}  // namespace tutti::device::cts
