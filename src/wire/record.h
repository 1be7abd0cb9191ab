// One ring record as the consumer holds it: a private copy, which the client can no longer change, of bytes it wrote.
// Every field is still a claim; wire/validate.h turns it into something that may be acted on.
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
  // Body and what follows it: all bytes of the record's slots, the slots' own 8 bytes taken out. Valid until the
  // consumer is asked for the next record.
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
