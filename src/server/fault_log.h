// The last faults of all clients, for `tutti faults`. They outlive their clients.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "device/fault.h"

namespace tutti::server {

struct ClientInfo;

// Thread-safe.
class FaultLog {
 public:
  static constexpr size_t kMost = 256;

  // When the log is full, evicts the oldest line among those of the parties with the most lines.
  void Add(const ClientInfo& client, uint32_t device, const device::Fault& fault);
  // One JSON object per line, the oldest first. Unknown fields are omitted.
  std::string Lines() const;

 private:
  struct Entry {
    std::string party;
    std::string line;
  };
  void RemoveOne();  // lock held

  mutable std::mutex mutex_;
  std::deque<Entry> entries_;  // the oldest first
};

}  // namespace tutti::server
