#include "device/gpu/reserved_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/checked.h"
#include "cuda/result.h"
#include "device/gpu/slabs.h"
#include "wire/ring_layout.h"

namespace tutti::device::gpu {
namespace {

constexpr uint64_t kArrayAlignment = 512;

std::unexpected<Error> NotReserved(uint64_t address, uint64_t bytes) {
  return Fail(cuda::CUDA_ERROR_INVALID_VALUE,
              fmt::format("0x{:x} to 0x{:x} are not whole mappings in a reserved range", address, address + bytes));
}

}  // namespace

ReservedPart::ReservedPart(uint64_t begin, uint64_t bytes)
    : begin_(begin), bytes_(bytes), allocator_(begin, bytes, kSlabBytes), of_small_arrays_(begin, 0, kArrayAlignment) {}

std::optional<uint64_t> ReservedPart::Reserve(uint64_t bytes, uint64_t alignment, uint64_t wish) {
  if (bytes == 0 || bytes > bytes_) return std::nullopt;
  bytes = allocator_.RoundUp(bytes);
  const bool wished = wish != 0 && wish % std::max(alignment, kSlabBytes) == 0 && allocator_.TakeAt(wish, bytes);
  const auto address = wished ? wish : allocator_.Take(bytes, alignment);
  if (address) ranges_.emplace(*address, bytes);
  return address;
}

std::optional<uint64_t> ReservedPart::ReserveForArray(uint64_t bytes) {
  if (bytes == 0 || bytes > bytes_) return std::nullopt;
  const bool is_small = bytes < kSlabBytes;
  auto address = is_small ? of_small_arrays_.Take(bytes, kArrayAlignment) : allocator_.Take(bytes, kSlabBytes);
  if (!address && is_small) {
    const auto more = allocator_.Take(kSlabBytes, kSlabBytes);
    if (!more) return std::nullopt;
    of_small_arrays_.Give(*more, kSlabBytes);
    address = of_small_arrays_.Take(bytes, kArrayAlignment);
  }
  if (address) arrays_.emplace(*address, bytes);
  return address;
}

void ReservedPart::FreeArray(uint64_t address, uint64_t bytes) {
  if (bytes >= kSlabBytes) {
    allocator_.Give(address, bytes);
    return;
  }
  const auto [begin, free_bytes] = of_small_arrays_.Give(address, bytes);
  const uint64_t first = AlignUp(begin, kSlabBytes), end = (begin + free_bytes) / kSlabBytes * kSlabBytes;
  if (first < end && of_small_arrays_.TakeAt(first, end - first)) allocator_.Give(first, end - first);
}

void ReservedPart::Free(uint64_t address) {
  if (const auto array = arrays_.extract(address)) return FreeArray(address, array.mapped());
  const auto range = ranges_.find(address);
  if (range == ranges_.end()) return;
  allocator_.Give(address, range->second);
  ranges_.erase(range);
}

bool ReservedPart::InOneRange(uint64_t address, uint64_t bytes) const {
  auto range = ranges_.upper_bound(address);
  if (range == ranges_.begin()) return false;
  --range;
  return InRange(address - range->first, bytes, range->second);
}

ReservedPart::Mappings::const_iterator ReservedPart::At(uint64_t address) const {
  auto mapping = mappings_.upper_bound(address);
  if (mapping == mappings_.begin()) return mappings_.end();
  --mapping;
  return address - mapping->first < mapping->second.memory->bytes() ? mapping : mappings_.end();
}

Result<bool> ReservedPart::Check(uint64_t address, const std::shared_ptr<SharedMemory>& memory) const {
  const uint64_t bytes = memory->bytes();
  if (address % kSlabBytes != 0 || !InOneRange(address, bytes)) return NotReserved(address, bytes);
  const auto next = mappings_.lower_bound(address);
  if (next != mappings_.end() && next->first == address && next->second.memory == memory) return false;
  if ((next != mappings_.end() && next->first - address < bytes) || At(address) != mappings_.end())
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("memory is mapped at 0x{:x} already", address));
  if (mappings_.size() >= wire::kMostMappings)
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, "the client has as many mappings as it may have");
  return true;
}

Result<ReservedPart::Mappings> ReservedPart::Take(uint64_t address, uint64_t bytes) {
  if (!InOneRange(address, bytes)) return NotReserved(address, bytes);
  const auto first = mappings_.lower_bound(address), last = mappings_.lower_bound(address + bytes);
  const auto sticks_out = [](const auto& mapping, uint64_t end) {
    return mapping.first < end && mapping.second.memory->bytes() > end - mapping.first;
  };
  if ((first != mappings_.begin() && sticks_out(*std::prev(first), address)) ||
      (first != last && sticks_out(*std::prev(last), address + bytes)))
    return NotReserved(address, bytes);
  Mappings taken;
  for (auto mapping = first; mapping != last;) taken.insert(mappings_.extract(mapping++));
  return taken;
}

ReservedPart::Mappings ReservedPart::TakeAll(uint64_t address) {
  const auto range = ranges_.find(address);
  return range == ranges_.end() ? Mappings() : Take(address, range->second).value_or(Mappings());
}

const ReservedPart::Mappings::value_type* ReservedPart::Find(uint64_t address, uint64_t bytes) const {
  const auto mapping = At(address);
  if (mapping == mappings_.end()) return nullptr;
  return InRange(address - mapping->first, bytes, mapping->second.memory->bytes()) ? &*mapping : nullptr;
}

bool ReservedPart::Covers(uint64_t address, uint64_t bytes, bool writes) const {
  for (uint64_t at = address; at - address < bytes;) {
    const auto mapping = At(at);
    if (mapping == mappings_.end() || mapping->second.slab == nullptr || (writes && !mapping->second.writable))
      return false;
    at = mapping->first + mapping->second.memory->bytes();
  }
  return true;
}

}  // namespace tutti::device::gpu
