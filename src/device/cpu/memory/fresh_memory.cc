#include "device/cpu/memory/fresh_memory.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "device/cpu/memory/huge_pages.h"

namespace tutti::device::cpu {

void FreshMemory::Add(uint64_t address, uint64_t bytes, uint64_t now_ns) {
  const uint64_t begin = AlignUp(address, kHugePageBytes);
  const uint64_t end = std::min((address + bytes) / kHugePageBytes * kHugePageBytes, begin + kMostBytes);
  if (begin < end) waiting_.push_back({.address = address, .next = begin, .end = end, .since_ns = now_ns});
}

std::optional<uint64_t> FreshMemory::Next(uint64_t now_ns) {
  if (waiting_.empty() || now_ns < waiting_.front().since_ns + kRestNs) return std::nullopt;
  Waiting& first = waiting_.front();
  making_ = first.address;
  const uint64_t page = first.next;
  first.next += kHugePageBytes;
  if (first.next == first.end) waiting_.pop_front();
  return page;
}

std::optional<uint64_t> FreshMemory::Made() {
  const uint64_t made = std::exchange(making_, 0);
  freed_ = false;
  return std::exchange(awaited_, false) ? std::optional(made) : std::nullopt;
}

bool FreshMemory::Forget(uint64_t address) {
  std::erase_if(waiting_, [address](const Waiting& waiting) { return waiting.address == address; });
  freed_ |= making_ == address;
  return making_ == address;
}

bool FreshMemory::MayGo(uint64_t address) {
  if (making_ != address) return true;
  awaited_ = true;
  return false;
}

}  // namespace tutti::device::cpu
