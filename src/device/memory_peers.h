// What others have of a device's memory: the machine's other servers, each of which serves other users' programs.
#pragma once

#include <cstdint>

namespace tutti::device {

// Of one device. Thread-safe.
class MemoryPeers {
 public:
  virtual ~MemoryPeers() = default;
  // Tells the others that this process has `bytes`, and returns what they have. Of two that do so at once, at least one
  // is told of the other.
  virtual uint64_t Exchange(uint64_t bytes) = 0;
  // What they have.
  virtual uint64_t bytes() const = 0;
  // Tells the others how much of what this process has is about to be released, since its clients have ended.
  virtual void SayLeaving(uint64_t bytes) = 0;
  // So much of what they have. What each says is at most what it has.
  virtual uint64_t leaving_bytes() const = 0;
  // A short time, of random length: of several that were in each other's way, one comes first.
  virtual void Pause() = 0;
};

}  // namespace tutti::device
