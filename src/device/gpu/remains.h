// What Spaces that have ended leave in executors: memory that is mapped there as long as a kernel does not end, or a
// driver hangs. It counts as used until then.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "device/gpu/executor_process.h"

namespace tutti::device::gpu {

// Thread-safe.
class Remains {
 public:
  Remains();
  // Drops all of it.
  ~Remains();
  Remains(const Remains&) = delete;

  // Drops `what`, on a thread of its own, when all of `ends` are over.
  void Keep(std::vector<PlaceEnd> ends, std::shared_ptr<const void> what);

 private:
  struct Kept {
    std::vector<PlaceEnd> ends;
    std::shared_ptr<const void> what;
  };
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Kept> kept_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tutti::device::gpu
