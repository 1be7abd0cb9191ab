// The modules that an executor has loaded, by the server's numbers.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "executor/fence.h"
#include "executor/image_facts.h"
#include "executor/leftovers.h"
#include "executor/vendor.h"
#include "module/module_info.h"

namespace tutti::executor {

// Thread-safe, but for loading and unloading, which is of one thread; the vendor's context is current in all threads.
class Modules {
 public:
  // `fence`: of the place, if its modules are fenced. Outlives this.
  // The device has that capability (90 for 9.0).
  // `leftovers`: null: what is unloaded is so at once. `server`: a socket; when it hangs up, nobody waits any more.
  explicit Modules(const Vendor& vendor, Fence* fence = nullptr, uint32_t capability = 0,
                   Leftovers* leftovers = nullptr, int server = -1)
      : vendor_(vendor), fence_(fence), capability_(capability), leftovers_(leftovers), server_(server) {}

  struct Loaded {
    module::ModuleInfo info;
    std::string log;
    uint64_t state = 0;  // ModuleState
    uint64_t managed_bytes = 0;  // Answer::managed_bytes
    uint64_t other_bytes = 0;  // Answer::other_bytes
  };
  // An error's text is the log of the vendor's compiler, if it has written one. `is_fenced`: it checks its own
  // addresses, if modules of the place do.
  struct Image {
    std::span<const uint8_t> text;  // of which facts are read
    std::span<const uint8_t> code;  // that the driver loads: the same, or what it has made of it
  };
  struct Bounds {
    uint64_t most_bytes = ~uint64_t{0};  // that its variables may take: else OUT_OF_MEMORY, before anything is loaded
    bool is_limit = false;  // it is the client's: code of which nothing is known is not loaded
  };
  Result<Loaded> Load(uint32_t number, const Image& image, bool is_fenced, const Bounds& bounds);
  Result<Loaded> Load(uint32_t number, const Image& image, bool is_fenced) {
    return Load(number, image, is_fenced, Bounds{});
  }
  // Its managed variables lie there from now on, with their initial values if they are `fresh`.
  Status PlaceManaged(uint32_t number, uint64_t address, bool fresh);
  // False: there is no room to leave it (executor/leftovers.h), and it is loaded. Waits for nothing that runs.
  Result<bool> Unload(uint32_t number);
  // Nothing of the place runs any more. Waits until they are unloaded, or left.
  Status UnloadAll();
  Result<uint32_t> BlocksPerSm(uint32_t number, uint32_t kernel, uint32_t block_threads, uint32_t dynamic_shared_bytes);

  // Whether one that has been loaded prints by the driver.
  bool prints() const { return prints_.load(std::memory_order_relaxed); }
  struct Found {
    cuda::CUfunction function = nullptr;
    // Where among its parameters the launch's number stands, behind those that the server knows; if it takes one.
    std::optional<uint32_t> launch_offset;
  };
  // Allowed to have so much dynamic shared memory, and such clusters.
  Result<Found> Find(uint32_t number, uint32_t kernel, uint32_t dynamic_shared_bytes, uint32_t cluster_blocks);

 private:
  struct Kernel {
    cuda::CUfunction function;
    // What the driver lets it have.
    uint32_t most_dynamic_shared_bytes;
    uint32_t most_cluster_blocks;
    std::optional<uint32_t> launch_offset;
  };
  // Addresses of the driver's, but for its place.
  struct Managed {
    cuda::CUdeviceptr pointer;  // to it
    cuda::CUdeviceptr initial;
    uint64_t bytes;
    uint64_t offset;  // from the first one's
  };
  struct Module {
    cuda::CUmodule handle = nullptr;
    std::vector<Kernel> kernels;
    std::vector<Managed> managed;
    uint64_t managed_bytes = 0;
    uint64_t driver_bytes = 0;  // that it takes of the device's memory, about
  };
  Result<Loaded> LoadNow(uint32_t number, const Image& image, bool is_fenced, const Bounds& bounds);
  uint64_t BytesOfVariables(cuda::CUmodule module, const ImageFacts& facts) const;
  Status UnloadNow(const Module& module) const;
  // Of one that is nobody's, in the place's part of what is left. Where it cannot be yet, and nobody waits any more,
  // UnloadAll does it.
  void Drop(const Module& module);
  bool fenced() const { return fence_ != nullptr && fence_->is_open(); }
  Result<module::ModuleInfo> Describe(Module& module, const ImageFacts& facts, bool takes_numbers);
  Result<module::KernelInfo> Describe(cuda::CUfunction function) const;
  uint32_t Attribute(cuda::CUfunction function, cuda::CUfunction_attribute number) const;  // 0: not known
  void AddVariables(const Module& module, const ImageFacts& facts, module::ModuleInfo* info) const;
  Status AddManaged(const ImageFacts& facts, Module* module, module::ModuleInfo* info) const;

  const Vendor& vendor_;
  Fence* const fence_;  // null: none
  const uint32_t capability_;
  Leftovers* const leftovers_;
  const int server_;
  std::mutex mutex_;
  std::map<uint32_t, Module> modules_;
  std::vector<Module> dropped_;  // that are loaded all the same
  std::atomic<bool> prints_{false};
};

}  // namespace tutti::executor
