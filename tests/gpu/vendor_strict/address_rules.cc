// Rules: cuda.h of CUDA 13.0, at the functions that are named (and
// https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__VA.html).
//
// Two things that the vendor's driver does are made here of what Tutti's own can: memory that other processes import is
// a memory file, and below reserved addresses there is nothing, so that a process can map memory of its own there.
#include "vendor_strict/address_rules.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "vendor_strict/breach.h"
#include "vendor_strict/true_driver.h"

namespace tutti::gpu::strict {

using namespace cuda;

namespace {

constexpr uint64_t kPage = 4096, kGranularity = 2u << 20;
constexpr uint64_t kRoom = 1ull << 30;  // below reserved addresses
constexpr int kReadAndWrite = 3;

std::string Range(uint64_t address, uint64_t bytes) { return Hex(address) + " and " + Hex(bytes) + " bytes"; }

bool Overlaps(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) { return a < b + b_bytes && b < a + a_bytes; }

// As the true driver imports one.
int MemoryFile(uint64_t bytes) {
  const int file = memfd_create("strict-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return -1;
  (void)!ftruncate(file, static_cast<off_t>(bytes));
  fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return file;
}

}  // namespace

AddressRules& AddressRules::Get() {
  static auto* const rules = new AddressRules;
  return *rules;
}

// The true driver has its client's window mapped there.
void AddressRules::MakeRoomBelow(uint64_t address) {
  uint64_t from = address - kRoom;
  for (const auto& [other, bytes] : reserved_) {
    if (other < address) from = std::max(from, other + bytes);
  }
  if (from < address) munmap(reinterpret_cast<void*>(from), address - from);
}

int AddressRules::Reserve(CUdeviceptr* out, size_t bytes, size_t alignment, CUdeviceptr wish,
                          unsigned long long flags) {
  // Sizes and addresses are whole pages of the host, an alignment is 0 or a power of two, and there are no flags.
  if (out == nullptr || flags != 0 || bytes == 0 || bytes % kPage != 0 || wish % kPage != 0 ||
      (alignment & (alignment - 1)) != 0)
    return Breach("reserve-takes-whole-pages", CUDA_ERROR_INVALID_VALUE,
                  "cuMemAddressReserve of " + Range(wish, bytes));
  const std::lock_guard lock(mutex_);
  // An address is no more than a wish.
  if (wish != 0 && !Has("other_addresses")) {
    const CUresult reserved = True().cuMemAddressReserve(out, bytes, alignment, wish, 0);
    if (reserved != CUDA_SUCCESS) return reserved;
    if (*out != wish) True().cuMemAddressFree(std::exchange(*out, 0), bytes);
  } else {
    *out = 0;
  }
  if (*out == 0) {
    CUdeviceptr with_room = 0;
    if (const CUresult found = True().cuMemAddressReserve(&with_room, bytes + kRoom, alignment, 0, 0);
        found != CUDA_SUCCESS)
      return found;
    True().cuMemAddressFree(with_room, bytes + kRoom);
    const CUresult reserved = True().cuMemAddressReserve(out, bytes, alignment, with_room + kRoom, 0);
    if (reserved != CUDA_SUCCESS) return reserved;
  }
  reserved_.emplace(*out, bytes);
  MakeRoomBelow(*out);
  return CUDA_SUCCESS;
}

int AddressRules::Free(CUdeviceptr address, size_t bytes) {
  const std::lock_guard lock(mutex_);
  // Whole reservations are freed, as they were made.
  const auto found = reserved_.find(address);
  if (found == reserved_.end() || found->second != bytes)
    return Breach("reserved-addresses-are-freed-as-a-whole", CUDA_ERROR_INVALID_VALUE,
                  "cuMemAddressFree of " + Range(address, bytes));
  const auto mapped = mappings_.lower_bound(address);
  if (mapped != mappings_.end() && mapped->first < address + bytes)
    return Breach("addresses-are-freed-when-nothing-is-mapped", CUDA_ERROR_INVALID_VALUE,
                  "cuMemAddressFree, where memory is mapped at " + Hex(mapped->first));
  reserved_.erase(found);
  return True().cuMemAddressFree(address, bytes);
}

int AddressRules::Create(CUmemGenericAllocationHandle* out, size_t bytes, const CUmemAllocationProp* properties,
                         unsigned long long flags) {
  // Memory is whole granules (cuMemGetAllocationGranularity), and there are no flags.
  if (out == nullptr || properties == nullptr || flags != 0 || bytes == 0 || bytes % kGranularity != 0)
    return Breach("memory-is-whole-granules", CUDA_ERROR_INVALID_VALUE, "cuMemCreate of " + Hex(bytes) + " bytes");
  if (properties->type != CU_MEM_ALLOCATION_TYPE_PINNED || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      properties->win32HandleMetaData != nullptr)
    return Breach("memory-is-pinned-on-a-device", CUDA_ERROR_INVALID_VALUE, "cuMemCreate with other properties");
  if ((properties->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0)
    return Breach("memory-is-shared-by-descriptors", CUDA_ERROR_NOT_SUPPORTED, "cuMemCreate with other handle types");
  Memory memory{.bytes = bytes};
  CUresult made = CUDA_SUCCESS;
  if (properties->requestedHandleTypes == 0) {
    made = True().cuMemCreate(out, bytes, properties, 0);
  } else {
    memory.file = MemoryFile(bytes);
    made = True().cuMemImportFromShareableHandle(out, reinterpret_cast<void*>(static_cast<intptr_t>(memory.file)),
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  }
  if (made != CUDA_SUCCESS) {
    if (memory.file >= 0) close(memory.file);
    return made;
  }
  const std::lock_guard lock(mutex_);
  memory_.insert_or_assign(*out, memory);
  return CUDA_SUCCESS;
}

int AddressRules::Release(CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(mutex_);
  // What becomes of a handle that is none is not defined.
  const auto found = memory_.find(handle);
  if (found == memory_.end())
    return Breach("handles-are-released-once", CUDA_ERROR_INVALID_VALUE, "cuMemRelease of " + Hex(handle));
  if (found->second.file >= 0) close(found->second.file);
  memory_.erase(found);
  return True().cuMemRelease(handle);
}

int AddressRules::Export(void* out, CUmemGenericAllocationHandle handle, int type, unsigned long long flags) {
  const std::lock_guard lock(mutex_);
  const auto found = memory_.find(handle);
  // It was made to be exported as such a handle (CUmemAllocationProp::requestedHandleTypes); there are no flags.
  if (out == nullptr || flags != 0 || found == memory_.end() || found->second.file < 0 ||
      type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return Breach("memory-is-exported-as-it-was-created-for", CUDA_ERROR_INVALID_VALUE, "cuMemExportToShareableHandle");
  const int copy = fcntl(found->second.file, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *static_cast<int*>(out) = copy;
  return CUDA_SUCCESS;
}

int AddressRules::Import(CUmemGenericAllocationHandle* out, void* descriptor, int type) {
  const int file = static_cast<int>(reinterpret_cast<intptr_t>(descriptor));
  if (out == nullptr || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || fcntl(file, F_GETFD) < 0)
    return Breach("descriptors-are-imported-by-value", CUDA_ERROR_INVALID_VALUE,
                  "cuMemImportFromShareableHandle of " + Hex(static_cast<unsigned>(file)));
  const off_t bytes = lseek(file, 0, SEEK_END);
  const CUresult imported = True().cuMemImportFromShareableHandle(out, descriptor, type);
  if (imported != CUDA_SUCCESS) return imported;
  const std::lock_guard lock(mutex_);
  memory_.insert_or_assign(*out, Memory{.bytes = static_cast<uint64_t>(std::max<off_t>(bytes, 0))});
  return CUDA_SUCCESS;
}

int AddressRules::Map(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                      unsigned long long flags) {
  const std::lock_guard lock(mutex_);
  // There are no offsets and no flags; address and size are whole granules.
  if (offset != 0 || flags != 0 || address % kGranularity != 0 || bytes == 0 || bytes % kGranularity != 0)
    return Breach("maps-are-whole-granules", CUDA_ERROR_INVALID_VALUE, "cuMemMap of " + Range(address, bytes));
  const auto memory = memory_.find(handle);
  if (memory == memory_.end() || memory->second.bytes != bytes)
    return Breach("maps-are-of-all-of-a-memory", CUDA_ERROR_INVALID_VALUE, "cuMemMap of " + Range(address, bytes));
  // It lies in a reservation.
  const bool is_reserved = std::ranges::any_of(reserved_, [&](const auto& range) {
    return address >= range.first && address - range.first <= range.second &&
           bytes <= range.second - (address - range.first);
  });
  if (!is_reserved)
    return Breach("maps-are-in-one-reservation", CUDA_ERROR_INVALID_VALUE, "cuMemMap at " + Range(address, bytes));
  // Nothing is mapped there yet.
  if (std::ranges::any_of(mappings_, [&](const auto& m) { return Overlaps(address, bytes, m.first, m.second.bytes); }))
    return Breach("maps-are-where-nothing-is", CUDA_ERROR_INVALID_VALUE, "cuMemMap at " + Range(address, bytes));
  const CUresult mapped = True().cuMemMap(address, bytes, 0, handle, 0);
  if (mapped == CUDA_SUCCESS) mappings_.emplace(address, Mapping{.bytes = bytes});
  return mapped;
}

// Behind the last of the mappings that make up the range, from `first`; `first`: they do not.
AddressRules::Mappings::iterator AddressRules::EndOfWhole(Mappings::iterator first, uint64_t address, uint64_t bytes) {
  uint64_t reached = address;
  auto at = first;
  for (; at != mappings_.end() && at->first == reached && reached - address < bytes; ++at) reached += at->second.bytes;
  return reached - address == bytes ? at : first;
}

int AddressRules::Unmap(CUdeviceptr address, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto first = mappings_.find(address);
  const auto end = EndOfWhole(first, address, bytes);
  // Mappings are unmapped as a whole.
  if (first == end)
    return Breach("unmaps-are-of-whole-maps", CUDA_ERROR_INVALID_VALUE, "cuMemUnmap of " + Range(address, bytes));
  const CUresult unmapped = True().cuMemUnmap(address, bytes);
  if (unmapped == CUDA_SUCCESS) mappings_.erase(first, end);
  return unmapped;
}

int AddressRules::SetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* list, size_t count) {
  const std::lock_guard lock(mutex_);
  const auto first = mappings_.find(address);
  const auto end = EndOfWhole(first, address, bytes);
  // Whole mappings, without a hole between them.
  if (first == end)
    return Breach("access-is-set-of-whole-maps", CUDA_ERROR_INVALID_VALUE,
                  "cuMemSetAccess of " + Range(address, bytes));
  if (list == nullptr || count != 1 || list->location.type != CU_MEM_LOCATION_TYPE_DEVICE || list->location.id != 0 ||
      (list->flags != 0 && list->flags != 1 && list->flags != kReadAndWrite))
    return Breach("access-is-a-devices", CUDA_ERROR_INVALID_VALUE, "cuMemSetAccess with another description");
  const CUresult set = True().cuMemSetAccess(address, bytes, list, count);
  if (set == CUDA_SUCCESS) std::for_each(first, end, [&](auto& mapping) { mapping.second.access = list->flags; });
  return set;
}

std::optional<bool> AddressRules::Reaches(uint64_t address, uint64_t bytes, bool writes) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::none_of(reserved_, [&](const auto& r) { return Overlaps(address, bytes, r.first, r.second); }))
    return std::nullopt;
  for (uint64_t at = address; at < address + bytes;) {
    auto mapping = mappings_.upper_bound(at);
    if (mapping == mappings_.begin()) return false;
    --mapping;
    const auto& [start, what] = *mapping;
    if (at - start >= what.bytes || (writes ? what.access != kReadAndWrite : what.access == 0)) return false;
    at = start + what.bytes;
  }
  return true;
}

}  // namespace tutti::gpu::strict
