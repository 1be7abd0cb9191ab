// The last error of each thread of a block, as cudaGetLastError in a kernel gives it. Allocates with the first error.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

namespace tutti::guest {

class LastErrors {
 public:
  // For another block.
  void Clear() {
    if (std::exchange(any_, false)) errors_->fill(0);
  }
  void Set(uint32_t thread, uint32_t error) {
    if (errors_ == nullptr) errors_ = std::make_unique<Errors>();
    (*errors_)[thread % kThreads] = static_cast<uint16_t>(error);
    any_ = true;
  }
  uint32_t Peek(uint32_t thread) const { return any_ ? (*errors_)[thread % kThreads] : 0; }
  uint32_t Take(uint32_t thread) { return any_ ? std::exchange((*errors_)[thread % kThreads], 0) : 0; }

 private:
  static constexpr uint32_t kThreads = 1024;
  using Errors = std::array<uint16_t, kThreads>;
  std::unique_ptr<Errors> errors_;
  bool any_ = false;
};

}  // namespace tutti::guest
