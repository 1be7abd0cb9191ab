// Which of the places for windows are in use, where Spaces share executors: each has one, and each executor takes one
// Space for each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tutti::device::gpu {

// Thread-safe.
class WindowSlots : public std::enable_shared_from_this<WindowSlots> {
 public:
  explicit WindowSlots(size_t count) : users_(count) {}

  // One Space's.
  class Slot {
   public:
    Slot() = default;
    Slot(Slot&& other) noexcept : number_(other.number_), of_(std::move(other.of_)) {}
    Slot& operator=(Slot&& other) noexcept {
      std::swap(number_, other.number_);
      std::swap(of_, other.of_);
      return *this;
    }
    ~Slot() {
      if (of_ != nullptr) of_->Give(number_);
    }
    uint32_t number() const { return number_; }

   private:
    friend class WindowSlots;
    Slot(uint32_t number, std::shared_ptr<WindowSlots> of) : number_(number), of_(std::move(of)) {}
    uint32_t number_ = 0;
    std::shared_ptr<WindowSlots> of_;
  };

  // The first of those with the fewest users, so that few executors hold them all.
  Slot Take() {
    std::lock_guard lock(mutex_);
    const auto least = std::ranges::min_element(users_);
    ++*least;
    return {static_cast<uint32_t>(least - users_.begin()), shared_from_this()};
  }
  size_t count() const { return users_.size(); }

 private:
  void Give(uint32_t number) {
    std::lock_guard lock(mutex_);
    --users_[number];
  }

  std::mutex mutex_;
  std::vector<uint32_t> users_;  // by number
};

}  // namespace tutti::device::gpu
