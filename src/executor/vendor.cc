#include "executor/vendor.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

#include "cuda/result.h"

namespace tutti::executor {
namespace {

enum class Need : uint8_t { required, optional };

}  // namespace

Result<Vendor> Vendor::Open(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Fail(
        cuda::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
        fmt::format("the vendor's driver cannot be loaded: {} (TUTTI_VENDOR_LIBCUDA names another one)", dlerror()));
  }
  Vendor vendor;
  std::string missing;
  const auto find = [&](const char* symbol, Need need) {
    void* const address = dlsym(library, symbol);
    if (address == nullptr && need == Need::required) missing += (missing.empty() ? "" : ", ") + std::string(symbol);
    return address;
  };
#define CU_VENDOR(symbol, need, types) \
  vendor.symbol = reinterpret_cast<decltype(vendor.symbol)>(find(#symbol, Need::need));
#include "executor/vendor.def"
#undef CU_VENDOR
  if (!missing.empty()) {
    return Fail(cuda::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
                fmt::format("{} is too old a driver: CUDA 12.4 or later is needed, it lacks {}", path, missing));
  }
  vendor.ours = dlsym(library, "tuttiVersion") != nullptr;
  return vendor;
}

Status Vendor::Check(cuda::CUresult status, std::string_view call) const {
  if (status == cuda::CUDA_SUCCESS) return {};
  const char* name = nullptr;
  if (cuGetErrorName(status, &name) != cuda::CUDA_SUCCESS || name == nullptr) name = "an unknown error";
  Error error{.code = status, .text = fmt::format("{}: {} ({})", call, name, status)};
  if (cuda::EndsContext(status)) {
    std::lock_guard lock(end_->mutex);
    if (!end_->first) end_->first = error;
    end_->is_said.store(true, std::memory_order_release);
  }
  return std::unexpected(std::move(error));
}

std::optional<Error> Vendor::end() const {
  std::lock_guard lock(end_->mutex);
  return end_->first;
}

}  // namespace tutti::executor
