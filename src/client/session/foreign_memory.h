// Device memory outside of the window: a GPU's driver has the variables of modules at addresses of its own choice, in
// another process. The client keeps these addresses free of anything else while it uses them, so that an address says
// what it belongs to.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

namespace tutti::client {

// Thread-safe.
class ForeignMemory {
 public:
  static ForeignMemory& Get();

  // From now on [address, address + bytes) is the device's. False if this process has something of its own there.
  bool Take(uint64_t address, uint64_t bytes);
  // Undoes one Take.
  void Give(uint64_t address, uint64_t bytes);

  // Whether it is the device's. Costs one load where there is none, as on the CPU device.
  static bool Holds(uint64_t address) { return any_.load(std::memory_order_acquire) && Get().Find(address); }

 private:
  bool Find(uint64_t address);

  static constinit inline std::atomic<bool> any_{false};

  std::mutex mutex_;
  std::map<uint64_t, uint64_t> ranges_;  // bytes by address; they do not overlap
  std::map<uint64_t, uint32_t> pages_;   // how many ranges lie in it
};

}  // namespace tutti::client
