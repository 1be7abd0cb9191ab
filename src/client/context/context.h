// A context: what belongs together on one device and ends together.
//
// A primary context is one object per device for the life of the process; retain and release activate and end it, and
// its handle stays the same throughout (the runtime learns it before the first retain). A created context ends with its
// handle.
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
    uint32_t sms = 0;  // as many SMs it may use at most; 0: what the process may
    bool green = false;  // shares code and memory with the device's primary context
  };

  // What ends with a context and stands above it.
  struct Dependants {
    void (*end_module)(Module* module);
    void (*free_memory)(const Context& context);
  };
  // By cuInit, before there is a context.
  static void Use(const Dependants& dependants) { dependants_ = dependants; }

  Context(Device& device, bool primary, const Options& options);

  static Context* Find(const void* handle) { return pool_.Find(handle); }
  cuda::CUcontext handle() { return reinterpret_cast<cuda::CUcontext>(this); }

  static Context* MakePrimary(Device& device);
  // A new created context, active. OUT_OF_MEMORY if there are too many.
  static Answer<Context*> Create(Device& device, const Options& options);
  // Ends a created context and everything in it. INVALID_CONTEXT for a primary one or one that is ending already.
  static int Destroy(Context* context);
  // One more user, and one less: the last ends the context. A created context begins with one, a primary one with none;
  // there Attach retains and Detach releases. INVALID_CONTEXT for more of the second than of the first.
  int Attach();
  static int Detach(Context* context);

  // Primary contexts only.
  int Retain();
  int Release();  // INVALID_CONTEXT if nobody holds it
  int Reset();  // ends what is in it; holders keep holding it
  bool primary() const { return primary_; }
  bool green() const { return options_.green; }
  // The context that this one's modules and memory belong to.
  Context& owner() { return green() ? device_.primary() : *this; }
  bool active() const { return active_.load(std::memory_order_acquire); }

  Device& device() const { return device_; }
  // Never used twice; a primary context has a new one after each reset.
  uint64_t id() const { return id_.load(std::memory_order_acquire); }
  unsigned flags() const { return flags_.load(std::memory_order_relaxed); }
  void SetFlags(unsigned flags) { flags_.store(flags, std::memory_order_relaxed); }
  unsigned api_version() const { return options_.api_version; }
  // SMs that its work may use, of those the process is given.
  uint32_t sm_count() const;
  LocalStorage& local_storage() { return local_storage_; }

  // CUDA_SUCCESS if it can take work; else CONTEXT_IS_DESTROYED, or what Device::Check says.
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

  // Both return false for a limit that does not exist.
  bool GetLimit(cuda::CUlimit limit, size_t* value) const;
  bool SetLimit(cuda::CUlimit limit, size_t value);
  std::atomic<int> cache_config{0};
  std::atomic<int> shared_config{0};
  std::atomic<uint32_t> peers{0};  // bit per ordinal that peer access is enabled to

 private:
  int CheckComputeMode() const;
  int Activate();
  int Start();
  // Tells the server what part of the device the context may use, if it is less than all.
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
  std::recursive_mutex lifetime_mutex_;  // of activation and end, whose destructors may call back; taken before mutex_
  unsigned holders_ = 0;
  unsigned attached_ = 0;  // by Attach and, for a created context, by its making
  std::mutex mutex_;  // of the lists
  std::vector<Stream*> streams_;
  std::vector<Module*> modules_;
  std::array<std::atomic<size_t>, cuda::CU_LIMIT_COUNT> limits_;
};

}  // namespace tutti::client
