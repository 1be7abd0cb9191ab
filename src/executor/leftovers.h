// Modules that a program has unloaded, or has left as it ended, while something runs in the context. The driver may
// wait for all of that before it unloads one, a neighbour's endless kernel too, and have others wait that call it
// meanwhile, among them who gives records to it. So they stay loaded until nothing runs, or there are too many of them.
// So do limits of the context stay that are larger than anybody asks for (executor/context_limits.h).
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"
#include "executor/context.h"
#include "executor/vendor.h"

namespace tutti::executor {

// Thread-safe.
class Leftovers {
 public:
  static constexpr size_t kMost = 256;
  static constexpr size_t kMostAtAll = 512;  // with those that the driver is asked to unload now
  static constexpr uint64_t kMostBytes = 64 << 20;  // of the device's memory, which counts as nobody's meanwhile

  // Both outlive it. `context` is made current in the thread that unloads what was left.
  Leftovers(const Vendor& vendor, Context* of, cuda::CUcontext context) : vendor_(vendor), of_(of), context_(context) {}
  // Without a wait for what is left.
  ~Leftovers();
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;

  // At once where nothing runs: then fails as the driver does. With a context that is current.
  // `bytes`: what it takes of the device's memory.
  Status Unload(cuda::CUmodule module, uint64_t bytes);
  // Limits may have become too large. Waits for nothing.
  void LookForLimits();

 private:
  bool Starts();
  Status UnloadNow(cuda::CUmodule module) const;
  void Run();

  const Vendor& vendor_;
  Context* const of_;
  const cuda::CUcontext context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<cuda::CUmodule> left_;
  uint64_t left_bytes_ = 0;  // until they are unloaded
  size_t left_count_ = 0;  // as well
  bool lowers_ = false;  // limits
  bool ends_ = false;
  std::thread unloads_;  // from the first that is left on
};

}  // namespace tutti::executor
