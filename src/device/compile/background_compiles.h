// Compilations that nobody waits for: of the optimised code of kernels that run quick code meanwhile.
//
// They are done by a few threads, clients in turns. One that has begun ends for the cache, whoever has gone; what has
// not goes on as long as somebody holds the kernel's image, or such images are few bytes together. Those whose quick
// code nobody has come last, and make room for others.
//
// One may take minutes. So that it is not the others' minutes, too, a client that has none under way need not wait for
// one that has gone on for long: a thread in addition does its next one.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "compiler/protocol/compile_protocol.h"
#include "device/compile/cache_key.h"
#include "device/compile/code_settings.h"
#include "device/compile/code_source.h"

namespace tutti::device {

// Thread-safe.
class BackgroundCompiles {
 public:
  static constexpr size_t kMost = 1024;
  static constexpr size_t kMostOfClient = 256;
  static constexpr uint64_t kMostKeptBytes = 256u << 20;  // of images that nobody else may have
  static constexpr uint32_t kThreadsInAddition = kCompilersInAddition;
  static constexpr uint64_t kLongNs = 10'000'000'000;

  struct Job {
    compiler::CompileRequest request;
    CacheKey key;  // of the code
    CacheKey image_key;
    std::shared_ptr<const ImageStore::Image> image;
    LoadedCode quick;  // null for the work, if nobody else has it
    const void* client = nullptr;  // an identity
    bool in_addition = false;  // to those of other clients, which go on for long
  };
  // Called by the threads. Returns soon after `stop` becomes true.
  using Work = std::function<void(const Job& job, const Cancelled& stop)>;

  BackgroundCompiles(uint32_t threads, Work work, uint64_t long_ns = kLongNs)
      : most_threads_(threads), long_ns_(long_ns), work_(std::move(work)) {}
  ~BackgroundCompiles();
  BackgroundCompiles(const BackgroundCompiles&) = delete;
  BackgroundCompiles& operator=(const BackgroundCompiles&) = delete;

  // Whether the client may add one more: there is room, and a thread.
  bool HasRoomFor(const void* client);
  void Add(Job job);

 private:
  struct Queued {
    Job job;  // its image, if that is kept, and without its quick code: what a client has in memory goes with it
    std::weak_ptr<const ImageStore::Image> image;
    std::weak_ptr<const LoadedKernel> quick;
    uint64_t turn;
    bool IsWanted() const { return !quick.expired(); }
  };
  using Queue = std::list<Queued>;
  struct UnderWay {
    CacheKey key;
    const void* client;
    uint64_t since_ns;
  };

  void Loop();
  void StartThread();
  void StartThreadIfAllAreBusy();
  bool MayKeep(const ImageStore::Image& image) const;
  bool Take(Job* job, Queue* dropped);
  bool IsUnderWayFor(const void* client) const;
  uint64_t AdditionAtNs() const;

  const uint32_t most_threads_;
  const uint64_t long_ns_;
  const Work work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Queue queue_;  // in the order in which they came
  uint64_t turn_ = 0;  // of the one that was taken last
  std::list<UnderWay> under_way_;  // in the order in which they began
  uint32_t free_threads_ = 0;
  Cancelled stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace tutti::device
