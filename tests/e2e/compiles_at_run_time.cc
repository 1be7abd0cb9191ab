// compiles_at_run_time nvrtc|nvJitLink LIBRARY: compiles a kernel to machine code with that library, loaded by its path
// as Python packages do, and runs it. Prints "right" and exits with 0, or prints what the driver said of the code.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/compat/driver_api.h"

using namespace tutti::cuda;

namespace {

constexpr char kSource[] = "extern \"C\" __global__ void store(int* out) { *out = 42; }";
constexpr char kPtx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry store(.param .u64 out) {\n  .reg .b64 %d<3>;\n"
    "  ld.param.u64 %d1, [out];\n  cvta.to.global.u64 %d2, %d1;\n  st.global.u32 [%d2], 42;\n  ret;\n}\n";

void Require(bool good, const std::string& what) {
  if (good) return;
  std::printf("%s\n", what.c_str());
  std::exit(1);
}

template <typename... Args>
void Call(void* library, const char* name, Args... args) {
  const auto function = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
  Require(function != nullptr && function(args...) == 0, std::string(name) + " failed");
}

std::string CompileByNvrtc(void* library) {
  void* program = nullptr;
  const char* options[] = {"--gpu-architecture=sm_80", "-DNAME=store"};
  size_t bytes = 0;
  Call(library, "nvrtcCreateProgram", &program, kSource, "store.cu", 0, nullptr, nullptr);
  Call(library, "nvrtcCompileProgram", program, 2, static_cast<const char* const*>(options));
  Call(library, "nvrtcGetCUBINSize", program, &bytes);
  std::string cubin(bytes, '\0');
  Call(library, "nvrtcGetCUBIN", program, cubin.data());
  return cubin;
}

std::string LinkByNvJitLink(void* library) {
  constexpr int kInputPtx = 2;
  void* linker = nullptr;
  const char* options[] = {"-arch=sm_80"};
  size_t bytes = 0;
  Call(library, "nvJitLinkCreate", &linker, 1u, static_cast<const char**>(options));
  Call(library, "nvJitLinkAddData", linker, kInputPtx, static_cast<const void*>(kPtx), sizeof kPtx, "store.ptx");
  Call(library, "nvJitLinkComplete", linker);
  Call(library, "nvJitLinkGetLinkedCubinSize", linker, &bytes);
  std::string cubin(bytes, '\0');
  Call(library, "nvJitLinkGetLinkedCubin", linker, static_cast<void*>(cubin.data()));
  return cubin;
}

int Run(const std::string& cubin) {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction store = nullptr;
  CUdeviceptr out = 0;
  Require(cuInit(0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
              cuCtxSetCurrent(context) == CUDA_SUCCESS && cuMemAlloc_v2(&out, 4) == CUDA_SUCCESS,
          "no device");
  if (const CUresult loaded = cuModuleLoadData(&module, cubin.data()); loaded != CUDA_SUCCESS) {
    const char* name = nullptr;
    cuGetErrorName(loaded, &name);
    std::puts(name);
    return 1;
  }
  void* parameters[] = {&out};
  int result = 0;
  Require(cuModuleGetFunction(&store, module, "store") == CUDA_SUCCESS &&
              cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr) == CUDA_SUCCESS &&
              cuMemcpyDtoH_v2(&result, out, 4) == CUDA_SUCCESS,
          "the kernel does not run");
  std::puts(result == 42 ? "right" : "wrong");
  return result == 42 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  Require(count == 3, "usage: compiles_at_run_time nvrtc|nvJitLink LIBRARY");
  void* const library = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL);
  Require(library != nullptr, std::string("no library ") + arguments[2]);
  return Run(std::string(arguments[1]) == "nvrtc" ? CompileByNvrtc(library) : LinkByNvJitLink(library));
}
