// Shares memory with another process, as two ranks of a program do:
//
//   share_probe --offer FILE   allocates memory, writes 42 into it and its handle into FILE, prints "offered", and
//                              stays until its standard input ends
//                              the handle of an event is in FILE.event
//   share_probe --take-event FILE   opens the event whose handle is there, and prints "opened"
//   share_probe --take FILE    opens the memory whose handle is in FILE and prints its first word
//
// Prints the name of the CUresult that stopped it otherwise, with exit status 1.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>

#include "tests/compat/driver_api.h"

using namespace tutti::cuda;

namespace {

void Check(CUresult status) {
  if (status == CUDA_SUCCESS) return;
  const char* name = nullptr;
  if (cuGetErrorName(status, &name) != 0 || name == nullptr) name = "an unknown CUresult";
  std::puts(name);
  std::exit(1);
}

void Offer(const std::string& path) {
  CUdeviceptr memory = 0;
  CUipcMemHandle handle;
  Check(cuMemAlloc_v2(&memory, 1 << 16));
  Check(cuMemsetD32_v2(memory, 42, 1 << 14));
  Check(cuIpcGetMemHandle(&handle, memory));
  std::ofstream(path, std::ios::binary).write(handle.reserved, sizeof handle.reserved);
  CUevent event = nullptr;
  CUipcEventHandle event_handle;
  Check(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  Check(cuIpcGetEventHandle(&event_handle, event));
  std::ofstream(path + ".event", std::ios::binary).write(event_handle.reserved, sizeof event_handle.reserved);
  std::puts("offered");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
  }
}

void Take(const std::string& path) {
  CUipcMemHandle handle;
  CUdeviceptr memory = 0;
  uint32_t word = 0;
  std::ifstream(path, std::ios::binary).read(handle.reserved, sizeof handle.reserved);
  Check(cuIpcOpenMemHandle_v2(&memory, handle, 1));
  Check(cuMemcpyDtoH_v2(&word, memory, sizeof word));
  std::printf("%u\n", word);
}

void TakeEvent(const std::string& path) {
  CUipcEventHandle handle;
  CUevent event = nullptr;
  std::ifstream(path + ".event", std::ios::binary).read(handle.reserved, sizeof handle.reserved);
  Check(cuIpcOpenEventHandle(&event, handle));
  Check(cuEventRecord(event, nullptr));
  Check(cuEventSynchronize(event));
  std::puts("opened");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 3 ? argv[1] : "";
  if (what != "--offer" && what != "--take" && what != "--take-event") {
    std::fputs("usage: share_probe --offer|--take|--take-event FILE\n", stderr);
    return 2;
  }
  CUcontext context;
  Check(cuInit(0));
  Check(cuDevicePrimaryCtxRetain(&context, 0));
  Check(cuCtxSetCurrent(context));
  what == "--offer" ? Offer(argv[2]) : what == "--take" ? Take(argv[2]) : TakeEvent(argv[2]);
}
