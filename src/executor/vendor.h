// The vendor's driver, opened by path and used through a table (vendor.def). No other place of Tutti has its symbols.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "cuda/types.h"

namespace tutti::cuda {

struct VendorTable {
#define CU_VENDOR(symbol, need, types) CUresult(*symbol) types = nullptr;
#include "executor/vendor.def"
#undef CU_VENDOR
};

}  // namespace tutti::cuda

namespace tutti::executor {

struct Vendor : cuda::VendorTable {
  bool ours = false;  // Tutti's own driver, as in tests

  // Opens the driver. It stays open.
  static Result<Vendor> Open(const std::string& path);
  // "cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY"; success if `status` is 0.
  Status Check(cuda::CUresult status, std::string_view call) const;
};

}  // namespace tutti::executor
