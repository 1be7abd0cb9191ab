// A list of at most kCapacity small values, held in place. For the modifiers and types of an instruction, of which a
// large module has millions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tutti::ptx {

template <typename T, size_t kCapacity>
class ShortList {
 public:
  bool push_back(T value) {  // false, and unchanged, if full
    if (size_ == kCapacity) return false;
    values_[size_++] = value;
    return true;
  }
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  T operator[](size_t i) const { return values_[i]; }
  T front() const { return values_[0]; }
  T back() const { return values_[size_ - 1]; }
  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + size_; }
  bool contains(T value) const {
    for (const T& item : *this) {
      if (item == value) return true;
    }
    return false;
  }
  friend bool operator==(const ShortList& a, const ShortList& b) {
    if (a.size_ != b.size_) return false;
    for (size_t i = 0; i < a.size_; ++i) {
      if (a.values_[i] != b.values_[i]) return false;
    }
    return true;
  }

 private:
  std::array<T, kCapacity> values_{};
  uint8_t size_ = 0;
};

}  // namespace tutti::ptx
