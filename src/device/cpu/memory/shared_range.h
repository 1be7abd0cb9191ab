// Memory of a client that others may map: the pages of one of its allocations, in its window's memory file.
//
// The pages belong to the allocation until it is freed, and then to whoever still holds the range. They return to the
// client's window when nobody does; if the client has ended by then, they outlive it as what is left of its file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "device/device.h"
#include "device/memory_account.h"
#include "os/fd.h"

namespace tutti::device::cpu {

class SharedRange : public SharedMemory {
 public:
  // What ranges know of the window they are from. Outlives it.
  struct Home {
    explicit Home(std::shared_ptr<const os::Fd> memory_file) : file(std::move(memory_file)) {}
    ~Home();
    // The window goes, but not all that was shared of it. Only so many files are kept without their window: the
    // mappings of another one's memory stay, but there will be no more.
    void Outlive();

    std::shared_ptr<const os::Fd> file;  // null: closed
    bool outlives = false;
    std::mutex mutex;  // of all of this, and held while nobody_holds runs: taken before any window's lock
    // Called for a range that goes while the window exists; null afterwards.
    std::function<void(uint64_t address, uint64_t number)> nobody_holds;
    std::set<uint64_t> outliving;  // numbers of the ranges that were held when the window went
  };

  // `account`: what the memory counts against if it outlives its client; null: nothing.
  SharedRange(std::shared_ptr<Home> home, uint64_t number, uint64_t address, uint64_t file_offset, uint64_t bytes,
              uint32_t device, MemoryAccount* account, MemoryGroups groups)
      : home_(std::move(home)),
        number_(number),
        address_(address),
        file_offset_(file_offset),
        bytes_(bytes),
        device_(device),
        account_(account),
        groups_(std::move(groups)) {}
  ~SharedRange() override;
  // All of a memory file that is no window's. Fails unless its size is sealed.
  static Result<std::shared_ptr<SharedMemory>> OfFile(os::Fd file);

  uint64_t bytes() const override { return bytes_; }
  uint32_t device() const override { return device_; }
  bool withdrawn() const override { return withdrawn_.load(std::memory_order_acquire); }
  void Withdraw() { withdrawn_.store(true, std::memory_order_release); }

  // Words that processes count in and wait for: those of an event (client/copy/shared_event.h).
  bool has_counters() const { return has_counters_.load(std::memory_order_relaxed); }
  void HaveCounters() { has_counters_.store(true, std::memory_order_relaxed); }

  // The memory file; null if it is closed. Not with a window's lock.
  std::shared_ptr<const os::Fd> file() const {
    std::lock_guard lock(home_->mutex);
    return home_->file;
  }
  uint64_t file_offset() const { return file_offset_; }
  // Best effort: a page that cannot be written stays as it is. With the home's mutex.
  void FillWithLargest() const;

 private:
  const std::shared_ptr<Home> home_;
  const uint64_t number_;
  const uint64_t address_;
  const uint64_t file_offset_;
  const uint64_t bytes_;
  const uint32_t device_;
  MemoryAccount* const account_;
  const MemoryGroups groups_;
  std::atomic<bool> withdrawn_{false};
  std::atomic<bool> has_counters_{false};
};

}  // namespace tutti::device::cpu
