// A kernel in a module: the data its launches need, and its attributes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "client/base/answer.h"
#include "client/base/pool.h"
#include "client/module/shape_table.h"
#include "cuda/types.h"
#include "module/module_info.h"

namespace tutti::client {

class Context;
class Module;

// A block shape in one word, 0 for none: dimensions have at most 10, 10 and 7 bits.
struct BlockShape {
  uint32_t x, y, z;
  uint64_t packed() const { return uint64_t{x} | uint64_t{y} << 16 | uint64_t{z} << 32; }
};

// Thread-safe.
class Function {
 public:
  Function(Module& module, uint32_t number);

  static Function* Find(const void* handle) { return pool_.Find(handle); }
  static Function* Create(Module& module, uint32_t number) { return pool_.Create(module, number); }
  static void Delete(Function* function);

  cuda::CUfunction handle() { return reinterpret_cast<cuda::CUfunction>(this); }
  Module& module() const { return module_; }
  // Of its module.
  uint64_t serial() const { return serial_; }
  Context& context() const { return context_; }
  const module::KernelInfo& info() const { return info_; }

  // The server's id of the kernel prepared for the block shape; asks the server once per shape. The error is the
  // launch's: the kernel cannot be compiled, or needs more resources than the device has.
  Answer<uint32_t> Prepared(const BlockShape& shape) {
    const uint64_t wanted = shape.packed();
    for (const Prepared_& entry : prepared_) {
      const uint64_t held = entry.shape.load(std::memory_order_acquire);
      if (held == wanted) return entry.kernel;
      if (held == 0) break;
    }
    return PreparedLater(shape);
  }

  // Blocks that fit on an SM at once, asked of the server once for each size. 0 if it does not say.
  uint32_t AskedBlocksPerSm(uint32_t block_threads, uint32_t dynamic_shared_bytes) const;
  int GetAttribute(cuda::CUfunction_attribute attribute, int* value) const;
  int SetAttribute(cuda::CUfunction_attribute attribute, int value);
  // The dynamic shared memory that a launch may request.
  uint32_t max_dynamic_shared() const { return max_dynamic_shared_.load(std::memory_order_relaxed); }
  // What launches keep to. In its low part the cluster that they are in without asking, as wire::LaunchBody packs it
  // (0: none). The rest is not 0 if the kernel limits what they may ask for.
  static constexpr uint32_t kPackedCluster = 0xffffff, kClusterMustBeSet = 1u << 24, kClusterHasMost = 1u << 25;
  uint32_t cluster_rules() const { return cluster_rules_.load(std::memory_order_relaxed); }
  // Blocks.
  uint32_t max_cluster() const;
  std::atomic<int> cache_config{0};

 private:
  // Written once, shape last; read-only from then on.
  struct Prepared_ {
    std::atomic<uint64_t> shape{0};
    uint32_t kernel = 0;
  };
  int RequireCluster(int axis, int extent);
  [[gnu::noinline]] Answer<uint32_t> PreparedLater(const BlockShape& shape);
  Answer<uint32_t> Prepare(const BlockShape& shape);
  void Keep(uint64_t shape, uint32_t kernel);
  // Logs the failure once: a program that ignores errors would take a kernel that never ran for a wrong result.
  void LogFailure(int status);

  static constinit Pool<Function, 1 << 20> pool_;

  Module& module_;
  Context& context_;
  const module::KernelInfo& info_;
  const uint64_t serial_;
  const uint32_t number_;  // in the module's kernel list
  std::atomic<uint32_t> max_dynamic_shared_;
  std::atomic<int> carveout_{-1};
  std::atomic<int> non_portable_cluster_{0};
  std::atomic<uint32_t> cluster_rules_;
  std::array<Prepared_, 6> prepared_;
  ShapeTable later_;  // further shapes
  std::optional<uint32_t> any_shape_;  // the kernel, on devices where one is for all shapes
  mutable std::map<std::pair<uint32_t, uint32_t>, uint32_t> blocks_per_sm_;  // by threads and bytes of shared memory
  mutable std::mutex mutex_;  // guards adding to all of them
  std::atomic<bool> failure_logged_{false};
};

}  // namespace tutti::client
