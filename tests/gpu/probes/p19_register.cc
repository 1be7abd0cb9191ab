// P19: registering shared memory of the host with the driver, by its size and its pages.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "frame/gpu.h"
#include "frame/numbers.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "probes/probes.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

constexpr uint64_t kMib = 1 << 20;

void Register(std::string_view step) {
  const Gpu gpu = OpenGpu();
  const bool huge = step == "huge_pages";
  const uint64_t spare = static_cast<uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * 4096 / 4;
  const auto sizes = Here().small ? std::vector<uint64_t>{4 * kMib}
                                  : std::vector<uint64_t>{32 * kMib, 256 * kMib, 2048 * kMib, 8192 * kMib};
  const int capable = Attribute(gpu.device, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
  for (const uint64_t bytes : sizes) {
    if (bytes > spare) continue;
    // Huge pages of shared memory by advice: those of hugetlbfs must have been set aside by somebody.
    const os::Fd fd(memfd_create("tutti-gpu-pages", MFD_CLOEXEC));
    if (!fd || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) GiveUp(Outcome::kFailed, "no shared memory");
    void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (pages == MAP_FAILED) GiveUp(Outcome::kFailed, "no shared memory");
    const bool advised = huge && madvise(pages, bytes, MADV_HUGEPAGE) == 0;
    auto* const words = static_cast<volatile uint64_t*>(pages);
    const Stopwatch touching;
    for (uint64_t at = 0; at < bytes / 8; at += 512) words[at] = 1;
    const double touch_ms = touching.ms();
    const Stopwatch registering;
    CU(cuMemHostRegister_v2, pages, static_cast<size_t>(bytes),
       static_cast<unsigned>(CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
    const double register_ms = registering.ms();
    CUdeviceptr device = 0;
    CU(cuMemHostGetDevicePointer_v2, &device, pages, 0u);
    FillPattern(device, std::min<uint64_t>(bytes, kMib), 9);
    CU(cuCtxSynchronize);
    const bool seen = words[5] == (5 + uint64_t{9}) * 0x9e3779b97f4a7c15;
    const Stopwatch giving_back;
    CU(cuMemHostUnregister, pages);
    Record()
        .Set("MiB", bytes / kMib)
        .Set("huge pages advised", advised)
        .Set("touch, ms", touch_ms)
        .Set("register, ms", register_ms)
        .Set("ms a GiB", register_ms * 1024 / static_cast<double>(bytes / kMib))
        .Set("unregister, ms", giving_back.ms())
        .Set("device pointer is the host's", device == reinterpret_cast<CUdeviceptr>(pages))
        .Set("attribute 91", capable)
        .Set("a kernel's write is seen", seen)
        .Write();
    munmap(pages, bytes);
  }
}

std::string Decide(const Evidence& evidence) {
  const auto equal = evidence.Truth("P19", "small_pages", "device pointer is the host's"),
             seen = evidence.Truth("P19", "small_pages", "a kernel's write is seen");
  const auto small = evidence.Least("P19", "small_pages", "ms a GiB"),
             huge = evidence.Least("P19", "huge_pages", "ms a GiB");
  if (!equal || !small) return evidence.Undecided("P19");
  if (!*equal || seen == false)
    return "registered memory has another address on the device: the host part cannot be shared as planned, the device "
           "is refused";
  return "the host part is a memfd, registered in steps of 32 MiB: " + Show(*small / 32) + " ms a step" +
         (huge ? ", with huge pages " + Show(*huge / 32) + " ms" : "");
}

constexpr Step kSteps[] = {{"small_pages", Register, 14}, {"huge_pages", Register, 14}};

}  // namespace

const Probe kP19{"P19",
                 "What does registering shared host memory cost, and is the device's pointer the host's?",
                 kSteps,
                 {},
                 Decide};

}  // namespace tutti::gpu
