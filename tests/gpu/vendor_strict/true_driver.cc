#include "vendor_strict/true_driver.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace tutti::gpu::strict {
namespace {

// Where a build has it, beside this library.
std::string Path() {
  if (const char* const path = std::getenv("TUTTI_STRICT_DRIVER")) return path;
  Dl_info here{};
  dladdr(reinterpret_cast<void*>(&Path), &here);
  return std::filesystem::path(here.dli_fname).parent_path() / "../../lib/libcuda.so.1";
}

void* Find(const char* symbol) {
  static void* const library = [] {
    void* const opened = dlopen(Path().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) {
      std::fprintf(stderr, "the strict driver has no true one: %s\n", dlerror());
      std::abort();
    }
    return opened;
  }();
  return dlsym(library, symbol);
}

[[gnu::constructor]] void Initialize() {
  using namespace cuda;
  CUcontext context = nullptr;
  if (True().cuInit(0) == CUDA_SUCCESS) True().cuDevicePrimaryCtxRetain(&context, 0);
}

}  // namespace

const TrueDriver& True() {
  static const TrueDriver driver = [] {
    TrueDriver found;
#define CU_VENDOR(symbol, need, types) found.symbol = reinterpret_cast<decltype(found.symbol)>(Find(#symbol));
#include "executor/vendor.def"
#undef CU_VENDOR
    return found;
  }();
  return driver;
}

}  // namespace tutti::gpu::strict
