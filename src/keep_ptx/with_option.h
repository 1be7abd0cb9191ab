// The option that makes NVRTC and nvJitLink keep PTX in their machine code, added to what a program passes.
#pragma once

#include <cstddef>

namespace tutti::keep_ptx {

inline constexpr size_t kMostOptions = 256;

// A list of options, with one more where it is needed. No memory is allocated: this runs in programs of others.
class WithOption {
 public:
  // The given list as it is, unless machine code is asked for ("sm_80") and nothing in it makes that carry PTX. A
  // longer list ends with a null pointer, like a program's arguments.
  WithOption(const char* const* options, size_t count);
  WithOption(const WithOption&) = delete;
  WithOption& operator=(const WithOption&) = delete;

  const char* const* options() const { return options_; }
  size_t count() const { return count_; }
  bool is_longer() const { return options_ == longer_; }

 private:
  const char* longer_[kMostOptions + 2];
  const char* const* options_;
  size_t count_;
};

}  // namespace tutti::keep_ptx
