// Modules that a program has unloaded, or has left as it ended, while something runs in the context. The driver may
// wait for all of that before it unloads one, a neighbour's endless kernel too, and have others wait that call it
// meanwhile, among them who gives records to it. So they stay loaded until nothing runs. So do limits of the context
// stay that are larger than anybody asks for (executor/context_limits.h).
//
// What is left takes memory that counts as nobody's, so there is a bound to it, and one to the part that a place that
// goes on may have of it. Beyond them a module stays its program's, which asks again, or whose end waits; the driver is
// not asked for that either.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
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
  static constexpr size_t kMost = 512;
  static constexpr uint64_t kMostBytes = 64 << 20;  // of the device's memory
  static constexpr size_t kMostOfPlace = kMost / 4;
  static constexpr uint64_t kMostBytesOfPlace = kMostBytes / 4;

  // Both outlive it. `context` is made current in the thread that unloads what was left.
  Leftovers(const Vendor& vendor, Context* of, cuda::CUcontext context) : vendor_(vendor), of_(of), context_(context) {}
  // Without a wait for what is left.
  ~Leftovers();
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;

  // `bytes`: what it takes of the device's memory. A place is known by an address. At once where nothing runs: then
  // fails as the driver does, with a context that is current. Else it is left. False: there is no room to leave it, and
  // it is as loaded as it was. Waits for nothing that runs.
  Result<bool> Unload(const void* place, cuda::CUmodule module, uint64_t bytes);
  // The same, and waits for room. Null: of a place that ends, which has no part. `gives_up`: asked now and then
  // meanwhile; then it fails.
  Status UnloadInTheEnd(const void* place, cuda::CUmodule module, uint64_t bytes,
                        const std::function<bool()>& gives_up = {});
  // The place has ended: what it has left is no place's.
  void Forget(const void* place);
  // Limits may have become too large. Waits for nothing.
  void LookForLimits();

 private:
  struct Left {
    const void* place;  // null: none
    cuda::CUmodule module;
    uint64_t bytes;
  };
  struct Share {
    size_t count = 0;
    uint64_t bytes = 0;
  };
  Status UnloadNow(cuda::CUmodule module) const;
  bool NothingRuns() const { return !of_->anything_runs() || of_->lost(); }
  bool HasRoom(const void* place, uint64_t bytes) const;
  bool Leave(const Left& left);
  void Release();
  bool Starts();
  void Run();
  void UnloadWhatIsLeft(std::unique_lock<std::mutex>& lock);

  const Vendor& vendor_;
  Context* const of_;
  const cuda::CUcontext context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Left> left_;
  Left unloading_{};
  Share all_;  // until they are unloaded
  std::map<const void*, Share> shares_;  // the same, of places that go on
  bool lowers_ = false;  // limits
  bool ends_ = false;
  bool works_ = true;  // the thread, if it has started
  std::thread thread_;  // from the first that is left on
};

}  // namespace tutti::executor
