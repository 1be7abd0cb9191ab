#include "frame/vendor.h"

#include <dlfcn.h>

namespace tutti::gpu {
namespace {

cuda::VendorTable table;
enum Need { required, optional };

}  // namespace

std::string OpenVendor(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return dlerror();
  std::string missing;
  const auto find = [&](const char* symbol, Need need) {
    void* const address = dlsym(library, symbol);
    if (address == nullptr && need == required) missing += (missing.empty() ? "" : ", ") + std::string(symbol);
    return address;
  };
#define CU_VENDOR(symbol, need, types) table.symbol = reinterpret_cast<decltype(table.symbol)>(find(#symbol, need));
#include "frame/vendor.def"
#undef CU_VENDOR
  return missing.empty() ? "" : path + " has no " + missing;
}

const cuda::VendorTable& Driver() { return table; }

}  // namespace tutti::gpu
