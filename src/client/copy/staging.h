// Staging memory in the window, for copies from host memory that the program may overwrite before the device executes
// them.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "client/context/stream_slots.h"

namespace tutti::client {

class Context;

// Keeps a few blocks and reuses each once the copy from it is done. Thread-safe.
class Staging {
 public:
  struct Block {
    uint64_t address = 0;
    uint64_t bytes = 0;
  };

  static Staging& Get();
  // Nothing if there is no memory, or if kMostBytes are already pending.
  std::optional<Block> Take(Context& context, uint64_t bytes);
  // The block is free again when `last` is reached.
  void GiveBack(const Block& block, const StreamMark& last);
  // For a new session: the old one's blocks are gone.
  void StartAgain();

 private:
  static constexpr uint64_t kMostBytes = 64u << 20;

  struct Resting {
    Block block;
    StreamMark last;
  };
  std::mutex mutex_;
  std::vector<Resting> resting_;
  uint64_t held_bytes_ = 0;
};

}  // namespace tutti::client
