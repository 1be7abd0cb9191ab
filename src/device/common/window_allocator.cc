#include "device/common/window_allocator.h"

#include <iterator>

namespace tutti::device {

WindowAllocator::WindowAllocator(uint64_t base, uint64_t bytes, uint64_t granularity, Grows grows)
    : granularity_(granularity), grows_(grows) {
  if (bytes != 0) Insert(base, bytes);
}

std::optional<uint64_t> WindowAllocator::Take(uint64_t bytes, uint64_t alignment) {
  if (bytes == 0 || bytes > UINT64_MAX - granularity_) return std::nullopt;
  bytes = RoundUp(bytes);
  if (alignment < granularity_) alignment = granularity_;
  for (auto entry = free_by_size_.lower_bound({bytes, 0}); entry != free_by_size_.end(); ++entry) {
    const auto [free_bytes, begin] = *entry;
    // At the upper end an aligned address may lie before the range, at the lower end behind it: then it does not fit.
    const uint64_t address =
        grows_ == Grows::kUp ? AlignUp(begin, alignment) : (begin + (free_bytes - bytes)) / alignment * alignment;
    const uint64_t skipped = address - begin;
    if (address < begin || skipped > free_bytes - bytes) continue;
    Erase(free_by_address_.find(begin));
    if (skipped != 0) Insert(begin, skipped);
    if (skipped + bytes < free_bytes) Insert(address + bytes, free_bytes - skipped - bytes);
    return address;
  }
  return std::nullopt;
}

bool WindowAllocator::TakeAt(uint64_t address, uint64_t bytes) {
  auto range = free_by_address_.upper_bound(address);
  if (bytes == 0 || range == free_by_address_.begin()) return false;
  --range;
  const auto [begin, free_bytes] = *range;
  const uint64_t skipped = address - begin;
  if (!InRange(skipped, bytes, free_bytes)) return false;
  Erase(range);
  if (skipped != 0) Insert(begin, skipped);
  if (skipped + bytes < free_bytes) Insert(address + bytes, free_bytes - skipped - bytes);
  return true;
}

std::pair<uint64_t, uint64_t> WindowAllocator::Give(uint64_t address, uint64_t bytes) {
  bytes = RoundUp(bytes);
  auto next = free_by_address_.lower_bound(address);
  if (next != free_by_address_.end() && address + bytes == next->first) {
    bytes += next->second;
    auto merged = next++;
    Erase(merged);
  }
  if (next != free_by_address_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == address) {
      address = previous->first;
      bytes += previous->second;
      Erase(previous);
    }
  }
  Insert(address, bytes);
  return {address, bytes};
}

void WindowAllocator::Insert(uint64_t address, uint64_t bytes) {
  free_by_address_.emplace(address, bytes);
  free_by_size_.emplace(bytes, address);
}

void WindowAllocator::Erase(std::map<uint64_t, uint64_t>::iterator range) {
  free_by_size_.erase({range->second, range->first});
  free_by_address_.erase(range);
}

}  // namespace tutti::device
