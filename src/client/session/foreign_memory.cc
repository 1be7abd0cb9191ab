#include "client/session/foreign_memory.h"

#include <sys/mman.h>

#include "base/checked.h"

namespace tutti::client {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kMostBytes = 1ull << 40;

// Whatever touches them faults, as it would where the driver had reserved them.
bool Reserve(uint64_t begin, uint64_t end) {
  void* const wanted = reinterpret_cast<void*>(begin);
  void* const got =
      mmap(wanted, end - begin, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == wanted) return true;
  if (got != MAP_FAILED) munmap(got, end - begin);  // kernels before 4.17 take it for a wish
  return false;
}

}  // namespace

ForeignMemory& ForeignMemory::Get() {
  static auto* const instance = new ForeignMemory;
  return *instance;
}

bool ForeignMemory::Take(uint64_t address, uint64_t bytes) {
  if (address < kPageBytes || bytes == 0 || bytes > kMostBytes || !CheckedAdd(address, bytes)) return false;
  const uint64_t begin = address / kPageBytes * kPageBytes, end = AlignUp(address + bytes, kPageBytes);
  std::lock_guard lock(mutex_);
  const auto next = ranges_.lower_bound(address);
  if (next != ranges_.end() && next->first < address + bytes) return false;
  if (next != ranges_.begin() && std::prev(next)->first + std::prev(next)->second > address) return false;
  // Of a range only the first and the last page may have others in them.
  const bool first_is_ours = pages_.contains(begin), last_is_ours = pages_.contains(end - kPageBytes);
  const uint64_t from = first_is_ours ? begin + kPageBytes : begin, to = last_is_ours ? end - kPageBytes : end;
  if (from < to && !Reserve(from, to)) return false;
  ++pages_[begin];
  if (end - kPageBytes != begin) ++pages_[end - kPageBytes];
  ranges_.emplace(address, bytes);
  any_.store(true, std::memory_order_release);
  return true;
}

void ForeignMemory::Give(uint64_t address, uint64_t bytes) {
  const uint64_t begin = address / kPageBytes * kPageBytes, end = AlignUp(address + bytes, kPageBytes);
  std::lock_guard lock(mutex_);
  if (ranges_.erase(address) == 0) return;
  const auto leave = [this](uint64_t page) {
    const auto found = pages_.find(page);
    if (--found->second != 0) return false;
    pages_.erase(found);
    return true;
  };
  uint64_t from = begin, to = end;
  if (!leave(begin)) from += kPageBytes;
  if (end - kPageBytes != begin && !leave(end - kPageBytes)) to -= kPageBytes;
  if (from < to) munmap(reinterpret_cast<void*>(from), to - from);
  any_.store(!ranges_.empty(), std::memory_order_release);
}

bool ForeignMemory::Find(uint64_t address) {
  std::lock_guard lock(mutex_);
  const auto next = ranges_.upper_bound(address);
  return next != ranges_.begin() && address - std::prev(next)->first < std::prev(next)->second;
}

}  // namespace tutti::client
