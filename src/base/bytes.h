// Little-endian byte strings for messages and files: a writer that appends, a reader that never reads past its input.
//
// The reader is safe on hostile bytes: after the first read past the end it yields zeros and ok() is false, so a parser
// reads a whole record and checks once.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tutti {

class ByteWriter {
 public:
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void Put(const T& value) {
    Append(&value, sizeof value);
  }
  // Length (u32), then the bytes.
  void PutString(std::string_view text) {
    Put(static_cast<uint32_t>(text.size()));
    Append(text.data(), text.size());
  }
  void PutBytes(std::span<const uint8_t> bytes) {
    Put(static_cast<uint32_t>(bytes.size()));
    Append(bytes.data(), bytes.size());
  }
  std::vector<uint8_t> Take() { return std::move(out_); }
  std::span<const uint8_t> bytes() const { return out_; }

 private:
  void Append(const void* bytes, size_t count) {
    if (count == 0) return;
    const size_t at = out_.size();
    out_.resize(at + count);
    std::memcpy(out_.data() + at, bytes, count);
  }

  std::vector<uint8_t> out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> in) : in_(in) {}

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  T Get() {
    T value{};
    if (in_.size() - position_ < sizeof(T)) {
      ok_ = false;
      position_ = in_.size();
      return value;
    }
    std::memcpy(&value, in_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }
  std::span<const uint8_t> GetBytes() {
    const auto size = Get<uint32_t>();
    if (in_.size() - position_ < size) {
      ok_ = false;
      position_ = in_.size();
      return {};
    }
    auto bytes = in_.subspan(position_, size);
    position_ += size;
    return bytes;
  }
  std::string GetString() {
    auto bytes = GetBytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  // An element count for a list whose elements take at least `least_bytes` each: rejects counts that the input cannot
  // hold, so a hostile count never makes us reserve memory.
  uint32_t GetCount(size_t least_bytes) {
    const auto count = Get<uint32_t>();
    if (least_bytes != 0 && count > (in_.size() - position_) / least_bytes) {
      ok_ = false;
      return 0;
    }
    return count;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return position_ == in_.size(); }

 private:
  std::span<const uint8_t> in_;
  size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace tutti
