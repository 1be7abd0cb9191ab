#include "device/cpu/memory/address_ranges.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <iterator>

#include "base/checked.h"
#include "cuda/result.h"
#include "device/cpu/memory/window_extent.h"
#include "wire/ring_layout.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kPageBytes = 4096;
// Of all clients: Linux allows a process 65,530 mappings by default (vm.max_map_count), and those here may split
// others.
constexpr uint32_t kMostOfAll = 24576;
constinit std::atomic<uint32_t> mapped_by_all{0};

std::unexpected<Error> NotMapped(uint64_t address, uint64_t bytes) {
  return Fail(cuda::CUDA_ERROR_INVALID_VALUE,
              fmt::format("0x{:x} to 0x{:x} are not whole mappings in a reserved range", address, address + bytes));
}

}  // namespace

AddressRanges::AddressRanges(uint64_t begin, uint64_t bytes)
    : begin_(begin), bytes_(bytes), end_(begin), allocator_(begin, bytes, kPageBytes) {}

AddressRanges::~AddressRanges() {
  mapped_by_all.fetch_sub(static_cast<uint32_t>(mappings_.size()), std::memory_order_relaxed);
}

std::optional<uint64_t> AddressRanges::Reserve(uint64_t bytes, uint64_t alignment, uint64_t wish) {
  if (bytes == 0 || bytes > bytes_) return std::nullopt;
  bytes = allocator_.RoundUp(bytes);
  const bool wished = wish != 0 && wish % std::max(alignment, kPageBytes) == 0 && allocator_.TakeAt(wish, bytes);
  const auto address = wished ? wish : allocator_.Take(bytes, alignment);
  if (!address) return std::nullopt;
  ranges_.emplace(*address, bytes);
  end_ = std::max(end_, *address + bytes);
  return address;
}

// If the system has no room for the mapping that hides them, the addresses and what is there are not used again.
void AddressRanges::Free(uint64_t address, Dropped* dropped) {
  const auto range = ranges_.find(address);
  if (!Unmap(address, range->second, dropped)) return;
  allocator_.Give(address, range->second);
  ranges_.erase(range);
}

bool AddressRanges::InOneRange(uint64_t address, uint64_t bytes) const {
  auto range = ranges_.upper_bound(address);
  if (range == ranges_.begin()) return false;
  --range;
  return InRange(address - range->first, bytes, range->second);
}

AddressRanges::Mappings::const_iterator AddressRanges::MappingAt(uint64_t address) const {
  auto mapping = mappings_.upper_bound(address);
  if (mapping == mappings_.begin()) return mappings_.end();
  --mapping;
  return address - mapping->first < mapping->second.memory->bytes() ? mapping : mappings_.end();
}

bool AddressRanges::ShowsCounter(uint64_t address) const {
  const auto mapping = MappingAt(address);
  return mapping != mappings_.end() && mapping->second.memory->has_counters() && MayWrite(address, sizeof(uint64_t));
}

bool AddressRanges::MayWrite(uint64_t address, uint64_t bytes) const {
  const auto mapping = MappingAt(address);
  return mapping != mappings_.end() && mapping->second.writable &&
         InRange(address - mapping->first, bytes, mapping->second.memory->bytes());
}

Status AddressRanges::Map(uint64_t address, const std::shared_ptr<SharedRange>& memory, int file, bool writable) {
  const uint64_t bytes = memory->bytes();
  if (!InOneRange(address, bytes)) return NotMapped(address, bytes);
  const auto next = mappings_.lower_bound(address);
  const bool same = next != mappings_.end() && next->first == address && next->second.memory == memory;
  if (!same && ((next != mappings_.end() && next->first - address < bytes) || Shows(address)))
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("memory is mapped at 0x{:x} already", address));
  if (!same &&
      (mappings_.size() >= wire::kMostMappings || mapped_by_all.load(std::memory_order_relaxed) >= kMostOfAll)) {
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY,
                fmt::format("the client has {} mappings; it may have {}, and all together {}", mappings_.size(),
                            wire::kMostMappings, kMostOfAll));
  }
  constexpr int kFlags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  if (mmap(reinterpret_cast<void*>(address), bytes, protection, kFlags, file,
           static_cast<off_t>(memory->file_offset())) == MAP_FAILED) {
    return FailErrno("mapping memory at a reserved address", cuda::CUDA_ERROR_OUT_OF_MEMORY);
  }
  mappings_.insert_or_assign(address, Mapping{.memory = memory, .writable = writable});
  if (!same) mapped_by_all.fetch_add(1, std::memory_order_relaxed);
  return {};
}

std::optional<std::pair<AddressRanges::Mappings::iterator, AddressRanges::Mappings::iterator>> AddressRanges::Whole(
    uint64_t address, uint64_t bytes) {
  const auto first = mappings_.lower_bound(address), last = mappings_.lower_bound(address + bytes);
  if (first != mappings_.begin()) {
    const auto before = std::prev(first);
    if (address - before->first < before->second.memory->bytes()) return std::nullopt;
  }
  if (first != last) {
    const auto at_end = std::prev(last);
    if (at_end->second.memory->bytes() > address + bytes - at_end->first) return std::nullopt;
  }
  return std::pair(first, last);
}

Status AddressRanges::Unmap(uint64_t address, uint64_t bytes, Dropped* dropped) {
  const auto whole = InOneRange(address, bytes) ? Whole(address, bytes) : std::nullopt;
  if (!whole) return NotMapped(address, bytes);
  const auto [first, last] = *whole;
  if (first == last) return {};
  TUTTI_TRY(WindowExtent::Close(address, bytes));
  for (auto mapping = first; mapping != last; ++mapping) {
    dropped->push_back(std::move(mapping->second.memory));
    mapped_by_all.fetch_sub(1, std::memory_order_relaxed);
  }
  mappings_.erase(first, last);
  return {};
}

}  // namespace tutti::device::cpu
