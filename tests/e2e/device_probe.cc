// Lists its devices, as a framework does at its start: one line per device,
//
//   0 GPU-xxxxxxxx-... sms=2 total_mib=8192 free_mib=8192 mode=0 mps=1
//
// or the name of the CUresult that stopped it, with exit status 1.
//
//   --setenv NAME=VALUE   set by the program itself before its first CUDA call
//   --allocate MIB,...    on the first device and the next ones; prints "allocated MIB" or the CUresult for each
//   --pin                 pins host memory and has the first device write it until it gets no more; prints "pinned
//                         MIB", then the CUresult; exit status 1
//   --touch               reads memory of the first device with a load of its own, as it may not on a GPU; prints
//                         "touched" and the byte
//   --hold                stays until its standard input ends, then uses the device once more and prints "still served"
//                         or the CUresult
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/device_attribute.h"
#include "tests/compat/driver_api.h"

using namespace tutti::cuda;

namespace {

[[noreturn]] void Stop(CUresult status) {
  const char* name = nullptr;
  if (cuGetErrorName(status, &name) != 0 || name == nullptr) name = "an unknown CUresult";
  std::printf("%s\n", name);
  std::exit(1);
}
void Check(CUresult status) {
  if (status != 0) Stop(status);
}

int Attribute(CUdevice_attribute which, CUdevice device) {
  int value = 0;
  Check(cuDeviceGetAttribute(&value, which, device));
  return value;
}

void Describe(CUdevice device) {
  CUcontext context = nullptr;
  CUuuid uuid{};
  size_t free = 0, total = 0;
  Check(cuDeviceGetUuid(&uuid, device));
  Check(cuDevicePrimaryCtxRetain(&context, device));
  Check(cuCtxSetCurrent(context));
  Check(cuMemGetInfo_v2(&free, &total));
  std::printf("%d GPU-", device);
  for (int i = 0; i < 16; ++i) {
    std::printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", static_cast<unsigned char>(uuid.bytes[i]));
  }
  std::printf(" sms=%d total_mib=%zu free_mib=%zu mode=%d mps=%d\n",
              Attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device), total >> 20, free >> 20,
              Attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, device), Attribute(CU_DEVICE_ATTRIBUTE_MPS_ENABLED, device));
}

void Allocate(CUdevice device, size_t mib) {
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  Check(cuDevicePrimaryCtxRetain(&context, device));
  Check(cuCtxSetCurrent(context));
  Check(cuMemAlloc_v2(&memory, mib << 20));
  std::printf("allocated %zu\n", mib);
}

[[noreturn]] void Pin() {
  constexpr size_t kPieceMib = 32;
  CUcontext context = nullptr;
  Check(cuDevicePrimaryCtxRetain(&context, 0));
  Check(cuCtxSetCurrent(context));
  for (size_t mib = 0;; mib += kPieceMib) {
    void* memory = nullptr;
    CUresult status = cuMemAllocHost_v2(&memory, kPieceMib << 20);
    if (status == 0) status = cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(memory), 1, kPieceMib << 20, nullptr);
    if (status == 0) status = cuCtxSynchronize();
    if (status == 0) continue;
    std::printf("pinned %zu\n", mib);
    Stop(status);
  }
}

void Touch() {
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  Check(cuDevicePrimaryCtxRetain(&context, 0));
  Check(cuCtxSetCurrent(context));
  Check(cuMemAlloc_v2(&memory, 4096));
  Check(cuMemsetD8_v2(memory, 42, 4096));
  std::printf("touched %d\n", *reinterpret_cast<volatile unsigned char*>(memory + 100));
}

void Hold() {
  std::puts("holding");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  CUdeviceptr memory = 0;
  Check(cuMemAlloc_v2(&memory, 4096));
  Check(cuMemFree_v2(memory));
  std::puts("still served");
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<size_t> mib;  // by device
  bool hold = false, pin = false, touch = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--setenv") == 0 && i + 1 < argc) {
      putenv(argv[++i]);
    } else if (std::strcmp(argv[i], "--allocate") == 0 && i + 1 < argc) {
      const char* rest = argv[++i];
      for (char* end = nullptr; rest != nullptr; rest = *end == ',' ? end + 1 : nullptr) {
        mib.push_back(std::strtoul(rest, &end, 10));
      }
    } else if (std::strcmp(argv[i], "--pin") == 0) {
      pin = true;
    } else if (std::strcmp(argv[i], "--touch") == 0) {
      touch = true;
    } else if (std::strcmp(argv[i], "--hold") == 0) {
      hold = true;
    } else {
      std::fprintf(stderr,
                   "usage: device_probe [--setenv NAME=VALUE] [--allocate MIB,...] [--pin] [--touch] [--hold]\n");
      return 3;
    }
  }
  int count = 0;
  Check(cuInit(0));
  Check(cuDeviceGetCount(&count));
  for (CUdevice device = count; device-- > 0;) Describe(device);  // the first is current in the end
  for (size_t device = mib.size(); device-- > 0;) Allocate(static_cast<CUdevice>(device), mib[device]);
  if (pin) Pin();
  if (touch) Touch();
  if (hold) Hold();
  return 0;
}
