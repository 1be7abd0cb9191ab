// MD2 (RFC 1319) and HMAC over it (RFC 2104, block size 16): required by the runtime's integrity check; not for any
// other use.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace tutti::client {

using Md2Digest = std::array<uint8_t, 16>;

Md2Digest Md2(std::span<const uint8_t> message);
// `key` has at most 16 bytes.
Md2Digest HmacMd2(std::span<const uint8_t> key, std::span<const uint8_t> message);

}  // namespace tutti::client
