// Copies and fills that are given to an executor: what they touch.
#pragma once

#include <cstdint>
#include <optional>

#include "wire/ring_layout.h"

namespace tutti::device::gpu {

// The addresses from the first byte of a side to the last, gaps between rows included; nothing if that overflows.
struct Extent {
  uint64_t address = 0;
  uint64_t bytes = 0;  // 0: it touches nothing
};
std::optional<Extent> DestinationOf(const wire::CopyBody& copy);
std::optional<Extent> SourceOf(const wire::CopyBody& copy);
std::optional<Extent> DestinationOf(const wire::FillBody& fill);

// Bytes that it moves; its extents have been checked.
uint64_t BytesOf(const wire::CopyBody& copy);
uint64_t BytesOf(const wire::FillBody& fill);

// Calls of the driver that it takes at most, about: rows that overlap are copied one by one.
uint64_t CallsFor(const wire::CopyBody& copy);
uint64_t CallsFor(const wire::FillBody& fill);
inline constexpr uint64_t kMostCalls = 1u << 20;

}  // namespace tutti::device::gpu
