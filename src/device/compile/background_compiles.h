// Compilations that nobody waits for: of the optimised code of kernels that run quick code meanwhile.
//
// They are done by a few threads, clients in turns. One that has begun ends for the cache, whoever has gone; what has
// not goes on as long as somebody holds the kernel's image, or such images are few bytes together. Those whose quick
// code nobody has come last, and make room for others.
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
#include "device/compile/code_source.h"

namespace tutti::device {

// Thread-safe.
class BackgroundCompiles {
 public:
  static constexpr size_t kMost = 1024;
  static constexpr size_t kMostOfClient = 256;
  static constexpr uint64_t kMostKeptBytes = 256u << 20;  // of images that nobody else may have

  struct Job {
    compiler::CompileRequest request;
    CacheKey key;  // of the code
    CacheKey image_key;
    std::shared_ptr<const ImageStore::Image> image;
    LoadedCode quick;
    const void* client = nullptr;  // an identity
  };
  // Called by the threads. Returns soon after `stop` becomes true.
  using Work = std::function<void(const Job& job, const Cancelled& stop)>;

  BackgroundCompiles(uint32_t threads, Work work) : most_threads_(threads), work_(std::move(work)) {}
  ~BackgroundCompiles();
  BackgroundCompiles(const BackgroundCompiles&) = delete;
  BackgroundCompiles& operator=(const BackgroundCompiles&) = delete;

  // Whether the client may add one more: there is room, and a thread.
  bool HasRoomFor(const void* client);
  void Add(Job job);

 private:
  struct Queued {
    Job job;  // its image, if that is kept
    std::weak_ptr<const ImageStore::Image> image;
    uint64_t turn;
    bool IsWanted() const { return job.quick.use_count() > 1; }  // as good as exact: a hint
  };
  using Queue = std::list<Queued>;

  void Loop();
  void StartThread();
  bool MayKeep(const ImageStore::Image& image) const;
  bool Take(Job* job, Queue* dropped);

  const uint32_t most_threads_;
  const Work work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Queue queue_;  // in the order in which they came
  uint64_t turn_ = 0;  // of the one that was taken last
  uint32_t free_threads_ = 0;
  Cancelled stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace tutti::device
