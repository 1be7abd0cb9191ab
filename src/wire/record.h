// One ring record as the consumer holds it: a private copy that the client can no longer change. Its fields are still
// untrusted; wire/validate.h checks them.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "wire/ring_layout.h"

namespace tutti::wire {

// A value that came from a client. Only the functions of wire/validate.h look inside.
template <typename T>
class Untrusted {
 public:
  explicit Untrusted(const T& value) : value_(value) {}
  const T& Unchecked() const { return value_; }

 private:
  T value_;
};

struct RawRecord {
  uint64_t ticket = 0;
  RecordKind kind = RecordKind::kNone;
  uint16_t reply = 0;
  uint32_t stream = 0;
  // The body and what follows it: the bytes of all of the record's slots, without the 8 bytes each slot keeps for
  // itself. Valid until the next call of the consumer's Next().
  std::span<const uint8_t> bytes;

  // The body; every record is at least one slot, so it is always there.
  template <typename Body>
    requires(std::is_trivially_copyable_v<Body> && sizeof(Body) <= kBodyBytes)
  Body body() const {
    Body body;
    std::memcpy(&body, bytes.data(), sizeof body);
    return body;
  }
};

}  // namespace tutti::wire
