#include "device/compile/cache_key.h"

#include <blake2.h>
#include <fmt/format.h>

namespace tutti::device {

struct KeyBuilder::State {
  blake2b_state hash;
};

KeyBuilder::KeyBuilder() : state_(new State) { blake2b_init(&state_->hash, sizeof(CacheKey::bytes)); }
KeyBuilder::~KeyBuilder() { delete state_; }

KeyBuilder& KeyBuilder::Add(std::span<const uint8_t> bytes) {
  const uint64_t size = bytes.size();
  blake2b_update(&state_->hash, reinterpret_cast<const uint8_t*>(&size), sizeof size);
  if (!bytes.empty()) blake2b_update(&state_->hash, bytes.data(), bytes.size());
  return *this;
}

KeyBuilder& KeyBuilder::Add(std::string_view text) {
  return Add(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

KeyBuilder& KeyBuilder::Add(uint64_t number) {
  return Add(std::span(reinterpret_cast<const uint8_t*>(&number), sizeof number));
}

CacheKey KeyBuilder::Finish() {
  CacheKey key;
  blake2b_final(&state_->hash, key.bytes.data(), key.bytes.size());
  return key;
}

CacheKey HashOf(std::span<const uint8_t> bytes) { return KeyBuilder().Add(bytes).Finish(); }

std::string CacheKey::Hex() const {
  std::string out;
  for (const uint8_t byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

}  // namespace tutti::device
