// The vendor's driver, opened by path and used through a table (vendor.def). No other place of Tutti has its symbols.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

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
  // "cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY"; success if `status` is 0. Thread-safe.
  Status Check(cuda::CUresult status, std::string_view call) const;
  // A call that was checked has said an error that is the context's from then on (cuda::EndsContext). Thread-safe.
  bool has_said_the_end() const { return end_->is_said.load(std::memory_order_acquire); }
  // What the first of these has said. Thread-safe.
  std::optional<Error> end() const;

 private:
  struct End {
    std::atomic<bool> is_said{false};
    std::mutex mutex;
    std::optional<Error> first;
  };
  std::shared_ptr<End> end_ = std::make_shared<End>();
};

}  // namespace tutti::executor
