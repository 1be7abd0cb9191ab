// 256-bit BLAKE2b: the names and checksums of cache entries.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tutti::device {

struct CacheKey {
  std::array<uint8_t, 32> bytes{};
  std::string Hex() const;
  friend auto operator<=>(const CacheKey&, const CacheKey&) = default;
};

// Hashes a list of parts, including each part's length, so that ("ab", "c") and ("a", "bc") differ.
class KeyBuilder {
 public:
  KeyBuilder();
  ~KeyBuilder();
  KeyBuilder(const KeyBuilder&) = delete;
  KeyBuilder& operator=(const KeyBuilder&) = delete;

  KeyBuilder& Add(std::span<const uint8_t> bytes);
  KeyBuilder& Add(std::string_view text);
  KeyBuilder& Add(uint64_t number);
  KeyBuilder& Add(const CacheKey& key) { return Add(std::span<const uint8_t>(key.bytes)); }
  CacheKey Finish();

 private:
  struct State;
  State* state_;
};

CacheKey HashOf(std::span<const uint8_t> bytes);

}  // namespace tutti::device
