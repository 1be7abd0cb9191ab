// A context: the modules, streams and memory on one device that end together.
//
// A primary context is one object per device for the life of the process; retain and release activate and end it, and
// its handle never changes (the runtime asks for it before the first retain). A created context ends with its handle.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "client/base/answer.h"
#include "client/base/pool.h"
#include "client/context/device.h"
#include "client/context/local_storage.h"
#include "cuda/types.h"

namespace tutti::client {

class Module;
class Stream;

// Thread-safe.
class Context {
 public:
  struct Options {
    unsigned flags = 0;
    unsigned api_version = 0;
    uint32_t sms = 0;  // SMs it may use at most; 0: those of the process
    bool green = false;  // shares code and memory with the device's primary context
  };

  // Hooks for what ends with a context but belongs to a layer above.
  struct Dependants {
    void (*end_module)(Module* module);
    void (*free_memory)(const Context& context);
  };
  // Set by cuInit, before any context exists.
  static void Use(const Dependants& dependants) { dependants_ = dependants; }

  Context(Device& device, bool primary, const Options& options);

  static Context* Find(const void* handle) { return pool_.Find(handle); }
  cuda::CUcontext handle() { return reinterpret_cast<cuda::CUcontext>(this); }

  static Context* MakePrimary(Device& device);
  // A new created context, active. OUT_OF_MEMORY if there are too many.
  static Answer<Context*> Create(Device& device, const Options& options);
  // Ends a created context and everything in it. INVALID_CONTEXT for a primary one or one that is ending already.
  static int Destroy(Context* context);
  // Reference counting: the last Detach ends the context. A created context starts with one reference, a primary one
  // with none; there Attach retains and Detach releases. INVALID_CONTEXT for a Detach without a matching Attach.
  int Attach();
  static int Detach(Context* context);

  // Primary contexts only.
  int Retain();
  int Release();  // INVALID_CONTEXT if it is not retained
  int Reset();  // ends what is in it; references stay
  bool primary() const { return primary_; }
  bool green() const { return options_.green; }
  // The context that owns this one's modules and memory.
  Context& owner() { return green() ? device_.primary() : *this; }
  bool active() const { return active_.load(std::memory_order_acquire); }

  Device& device() const { return device_; }
  // Never reused; a primary context gets a new one at each reset.
  uint64_t id() const { return id_.load(std::memory_order_acquire); }
  unsigned flags() const { return flags_.load(std::memory_order_relaxed); }
  void SetFlags(unsigned flags) { flags_.store(flags, std::memory_order_relaxed); }
  unsigned api_version() const { return options_.api_version; }
  // SMs that its work may use, of those the process may use.
  uint32_t sm_count() const;
  LocalStorage& local_storage() { return local_storage_; }

  // CUDA_SUCCESS if it accepts work; else CONTEXT_IS_DESTROYED, or the result of Device::Check.
  int Check() const;

  // The NULL stream. Only while active.
  Stream* legacy() const { return legacy_.load(std::memory_order_acquire); }
  void Add(Stream* stream);
  void Remove(Stream* stream);
  // How many streams that synchronise with the legacy stream are being captured (client/graph/capture.h counts them).
  std::atomic<uint32_t>& captured_streams() { return captured_streams_; }
  // Of the streams that synchronise with the legacy stream, other than itself.
  bool BlockingStreamsIdle();
  int WaitForBlockingStreams();
  // Waits for everything submitted to it so far, shows what kernels printed, and returns Check().
  int Synchronize();

  void Add(Module* module);
  void Remove(Module* module);

  // Both return false for an unknown limit.
  bool GetLimit(cuda::CUlimit limit, size_t* value) const;
  bool SetLimit(cuda::CUlimit limit, size_t value);
  std::atomic<int> cache_config{0};
  std::atomic<int> shared_config{0};
  std::atomic<uint32_t> peers{0};  // bit per ordinal to which peer access is enabled

 private:
  int CheckComputeMode() const;
  int Activate();
  int Start();
  // Tells the server which part of the device the context may use, if less than all.
  void SubmitLimit();
  void End();
  std::vector<Stream*> Streams();

  static constinit Pool<Context, 4096> pool_;
  inline static constinit Dependants dependants_{};

  Device& device_;
  const bool primary_;
  const Options options_;
  std::atomic<uint64_t> id_;
  std::atomic<unsigned> flags_;
  std::atomic<bool> active_{false};
  std::atomic<uint32_t> own_sms_{~0u};  // its limit in SMs, rounded as NVIDIA does
  std::atomic<Stream*> legacy_{nullptr};
  std::atomic<uint32_t> captured_streams_{0};
  std::atomic<uint32_t> blocking_streams_{0};
  LocalStorage local_storage_;
  std::recursive_mutex
      lifetime_mutex_;  // guards activation and end, whose destructors may call back; taken before mutex_
  unsigned holders_ = 0;
  unsigned attached_ = 0;  // references: by Attach and, for a created context, by its creation
  std::mutex mutex_;  // of the lists
  std::vector<Stream*> streams_;
  std::vector<Module*> modules_;
  std::array<std::atomic<size_t>, cuda::CU_LIMIT_COUNT> limits_;
};

}  // namespace tutti::client
