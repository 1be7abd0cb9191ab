// Which addresses of a window's host part are in use. The device is shown them in segments, from the end downwards, as
// they are needed. A driver copies to and from memory that it has been shown at once, so no allocation lies in two
// segments.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "device/common/window_allocator.h"

namespace tutti::device::gpu {

// Not thread-safe.
class HostSegments {
 public:
  struct Range {
    uint64_t address = 0;
    uint64_t bytes = 0;
  };
  // Of [base, base + bytes). Sizes are rounded up to `granularity`, a power of two.
  HostSegments(uint64_t base, uint64_t bytes, uint64_t granularity)
      : base_(base), end_(base + bytes), granularity_(granularity), begin_(end_) {}

  // In one of the segments that there are; nothing if none has room. `alignment`: 0, or a power of two.
  std::optional<uint64_t> Take(uint64_t bytes, uint64_t alignment);
  enum class Size { kAhead, kLeast };  // of a segment: with room for more, or for what is asked for alone
  // The segment that would have room, beside those that there are; nothing if there are no addresses for it.
  std::optional<Range> Next(uint64_t bytes, uint64_t alignment, Size size = Size::kAhead) const;
  // It is one from now on.
  void Add(const Range& segment);
  void Give(uint64_t address, uint64_t bytes);
  // From the first segment's begin to the end of the host part.
  Range all() const { return {begin_, end_ - begin_}; }

 private:
  struct Segment {
    uint64_t address;
    WindowAllocator free;
  };

  const uint64_t base_, end_, granularity_;
  uint64_t begin_;
  std::vector<Segment> segments_;  // addresses fall
};

}  // namespace tutti::device::gpu
