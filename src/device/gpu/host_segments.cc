#include "device/gpu/host_segments.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/checked.h"

namespace tutti::device::gpu {
namespace {

// Each is a quarter of what there is, so that they are few. Powers of two, as steps are.
constexpr uint64_t kLeastBytes = 32u << 20, kMostBytes = 256u << 20;
constexpr uint64_t kPart = 4;
constexpr uint64_t kStepBytes = 2u << 20;  // what a fence's map has a byte for (guest/gpu/fenced_ptx.h)

}  // namespace

std::optional<uint64_t> HostSegments::Take(uint64_t bytes, uint64_t alignment) {
  for (Segment& segment : segments_) {
    if (const auto address = segment.free.Take(bytes, std::max<uint64_t>(alignment, 1))) return address;
  }
  return std::nullopt;
}

std::optional<HostSegments::Range> HostSegments::Next(uint64_t bytes, uint64_t alignment, Size size) const {
  const uint64_t least = AlignUp(bytes, granularity_) + alignment, left = begin_ - base_;
  if (least < bytes || least > left) return std::nullopt;
  const uint64_t ahead = std::clamp(std::bit_ceil(all().bytes / kPart), kLeastBytes, kMostBytes);
  const uint64_t taken = std::min(AlignUp(least, size == Size::kLeast ? kStepBytes : ahead), left);
  return Range{begin_ - taken, taken};
}

void HostSegments::Add(const Range& segment) {
  begin_ = segment.address;
  segments_.push_back(
      {.address = segment.address,
       .free = WindowAllocator(segment.address, segment.bytes, granularity_, WindowAllocator::Grows::kDown)});
}

void HostSegments::Give(uint64_t address, uint64_t bytes) {
  const auto of = std::ranges::lower_bound(segments_, address, std::greater(), &Segment::address);
  of->free.Give(address, bytes);
}

}  // namespace tutti::device::gpu
