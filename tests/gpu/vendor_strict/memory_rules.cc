// Rules: cuda.h of CUDA 13.0, at the functions that are named, and the note of all copies
// (https://docs.nvidia.com/cuda/cuda-driver-api/api-sync-behavior.html): each side is registered as a whole, or not at
// all; a range that is so in part is refused with INVALID_VALUE.
#include "vendor_strict/memory_rules.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "vendor_strict/address_rules.h"
#include "vendor_strict/breach.h"
#include "vendor_strict/true_driver.h"

namespace tutti::gpu::strict {

using namespace cuda;

namespace {

struct ProcessMapping {
  uint64_t begin = 0, end = 0, inode = 0, offset = 0;
  unsigned major = 0, minor = 0;
  bool readable = false, writable = false, shared = false;
};

// The first and last byte's; begin is 0 where the process has nothing, or several mappings.
ProcessMapping MappingOf(uint64_t address, uint64_t bytes) {
  ProcessMapping found;
  FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return found;
  char line[512], rights[8];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    ProcessMapping one;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64, &one.begin, &one.end, rights,
                    &one.offset, &one.major, &one.minor, &one.inode) != 7)
      continue;
    one.readable = rights[0] == 'r', one.writable = rights[1] == 'w', one.shared = rights[3] == 's';
    if (one.begin <= address && address + bytes <= one.end) found = one;
  }
  std::fclose(maps);
  return found;
}

// A descriptor of the process that has the file open.
int FileOf(const ProcessMapping& mapping) {
  constexpr int kMostFiles = 4096;
  for (int file = 0; file < kMostFiles; ++file) {
    struct stat is{};
    if (fstat(file, &is) == 0 && is.st_ino == mapping.inode && major(is.st_dev) == mapping.major &&
        minor(is.st_dev) == mapping.minor)
      return file;
  }
  return -1;
}

}  // namespace

MemoryRules& MemoryRules::Get() {
  static auto* const rules = new MemoryRules;
  return *rules;
}

const std::pair<const uint64_t, MemoryRules::Range>* MemoryRules::Overlapping(uint64_t address, uint64_t bytes) const {
  const auto found = std::ranges::find_if(ranges_, [&](const auto& range) {
    return address < range.first + range.second.bytes && range.first < address + bytes;
  });
  return found == ranges_.end() ? nullptr : &*found;
}

int MemoryRules::Allocate(CUdeviceptr* out, size_t bytes) {
  // Nothing cannot be allocated.
  if (out == nullptr || bytes == 0) return Breach("memory-is-not-empty", CUDA_ERROR_INVALID_VALUE, "cuMemAlloc");
  const CUresult made = True().cuMemAlloc_v2(out, bytes);
  const std::lock_guard lock(mutex_);
  if (made == CUDA_SUCCESS) ranges_.insert_or_assign(*out, Range{bytes, Kind::kDevice});
  return made;
}

int MemoryRules::Free(CUdeviceptr address) {
  {
    const std::lock_guard lock(mutex_);
    // An address that was allocated.
    const auto found = ranges_.find(address);
    if (found == ranges_.end() || found->second.kind != Kind::kDevice)
      return Breach("memory-is-freed-as-it-was-taken", CUDA_ERROR_INVALID_VALUE, "cuMemFree of " + Hex(address));
    ranges_.erase(found);
  }
  return True().cuMemFree_v2(address);
}

int MemoryRules::AllocateHost(void** out, size_t bytes, unsigned flags) {
  constexpr unsigned kKnown = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  if (out == nullptr || bytes == 0 || (flags & ~kKnown) != 0)
    return Breach("host-memory-has-known-flags", CUDA_ERROR_INVALID_VALUE, "cuMemHostAlloc");
  const CUresult made = True().cuMemHostAlloc(out, bytes, flags);
  const std::lock_guard lock(mutex_);
  if (made == CUDA_SUCCESS) ranges_.insert_or_assign(reinterpret_cast<uint64_t>(*out), Range{bytes, Kind::kHost});
  return made;
}

int MemoryRules::FreeHost(void* pointer) {
  {
    const std::lock_guard lock(mutex_);
    // An address that was allocated on the host.
    const auto found = ranges_.find(reinterpret_cast<uint64_t>(pointer));
    if (found == ranges_.end() || found->second.kind != Kind::kHost)
      return Breach("host-memory-is-freed-as-it-was-taken", CUDA_ERROR_INVALID_VALUE, "cuMemFreeHost");
    ranges_.erase(found);
  }
  return True().cuMemFreeHost(pointer);
}

int MemoryRules::Show(uint64_t address, uint64_t bytes) {
  const ProcessMapping mapping = MappingOf(address, bytes);
  if (mapping.begin == 0 || !mapping.readable || !mapping.writable)
    return Breach("what-is-registered-is-memory", CUDA_ERROR_INVALID_VALUE, "cuMemHostRegister of " + Hex(address));
  if (Shown& shown = shown_[mapping.begin]; shown.users++ != 0) return CUDA_SUCCESS;
  const int file = mapping.shared && mapping.offset == 0 ? FileOf(mapping) : -1;
  const uint64_t whole = mapping.end - mapping.begin;
  CUmemGenericAllocationHandle memory = 0;
  CUdeviceptr at = 0;
  int status = file < 0 ? CUDA_ERROR_NOT_SUPPORTED
                        : True().cuMemImportFromShareableHandle(&memory, reinterpret_cast<void*>(intptr_t{file}),
                                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  if (status == CUDA_SUCCESS) status = True().cuMemAddressReserve(&at, whole, 0, mapping.begin, 0);
  if (status == CUDA_SUCCESS && at != mapping.begin) status = CUDA_ERROR_NOT_SUPPORTED;
  if (status == CUDA_SUCCESS) status = True().cuMemMap(at, whole, 0, memory, 0);
  const CUmemAccessDesc access{.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}, .flags = 3};
  if (status == CUDA_SUCCESS) status = True().cuMemSetAccess(at, whole, &access, 1);
  if (memory != 0) True().cuMemRelease(memory);
  shown_[mapping.begin].bytes = whole;
  return status == CUDA_SUCCESS
             ? status
             : Breach("the-strict-driver-cannot-show-this", status, "cuMemHostRegister of " + Hex(address));
}

void MemoryRules::Hide(uint64_t address) {
  auto shown = shown_.upper_bound(address);
  if (shown == shown_.begin()) return;
  --shown;
  if (--shown->second.users != 0) return;
  True().cuMemUnmap(shown->first, shown->second.bytes);
  True().cuMemAddressFree(shown->first, shown->second.bytes);
  shown_.erase(shown);
}

int MemoryRules::Register(void* pointer, size_t bytes, unsigned flags) {
  constexpr unsigned kKnown = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_IOMEMORY |
                              CU_MEMHOSTREGISTER_READ_ONLY;
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (address == 0 || bytes == 0 || (flags & ~kKnown) != 0)
    return Breach("registered-memory-has-known-flags", CUDA_ERROR_INVALID_VALUE, "cuMemHostRegister");
  const std::lock_guard lock(mutex_);
  // What is registered is not registered again.
  if (Overlapping(address, bytes) != nullptr)
    return Breach("memory-is-registered-once", CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                  "cuMemHostRegister of " + Hex(address));
  if (AddressRules::Get().Reaches(address, bytes, false))
    return Breach("reserved-addresses-are-not-registered", CUDA_ERROR_INVALID_VALUE,
                  "cuMemHostRegister of " + Hex(address));
  if (const int shown = Show(address, bytes); shown != CUDA_SUCCESS) return shown;
  ranges_.insert_or_assign(address, Range{bytes, Kind::kRegistered});
  return CUDA_SUCCESS;
}

int MemoryRules::Unregister(void* pointer) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const std::lock_guard lock(mutex_);
  // By the address that it was registered with.
  const auto found = ranges_.find(address);
  if (found == ranges_.end() || found->second.kind != Kind::kRegistered)
    return Breach("memory-is-unregistered-by-its-base", CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
                  "cuMemHostUnregister of " + Hex(address));
  // It must still be there.
  if (MappingOf(address, found->second.bytes).begin == 0)
    return Breach("memory-is-unregistered-before-it-goes", CUDA_ERROR_INVALID_VALUE,
                  "cuMemHostUnregister of " + Hex(address));
  ranges_.erase(found);
  Hide(address);
  return CUDA_SUCCESS;
}

int MemoryRules::DevicePointer(CUdeviceptr* out, void* pointer, unsigned flags) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  {
    const std::lock_guard lock(mutex_);
    const auto* const range = Overlapping(address, 1);
    // There are no flags.
    if (out == nullptr || flags != 0 || range == nullptr || range->second.kind == Kind::kDevice)
      return Breach("host-memory-has-a-device-pointer", CUDA_ERROR_INVALID_VALUE, "cuMemHostGetDevicePointer");
    if (range->second.kind == Kind::kRegistered) {
      // CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM is 1 where there is a GPU of a server.
      *out = address;
      return CUDA_SUCCESS;
    }
  }
  return True().cuMemHostGetDevicePointer_v2(out, pointer, 0);
}

bool MemoryRules::IsHost(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto* const range = Overlapping(address, 1);
  return range != nullptr && range->second.kind != Kind::kDevice;
}

int MemoryRules::CheckCopy(const char* call, uint64_t address, uint64_t bytes, bool writes) {
  if (bytes == 0) return CUDA_SUCCESS;
  const std::lock_guard lock(mutex_);
  if (const auto* const range = Overlapping(address, bytes)) {
    if (address >= range->first && bytes <= range->second.bytes &&
        address - range->first <= range->second.bytes - bytes)
      return CUDA_SUCCESS;
    return Breach("copies-are-in-one-allocation", CUDA_ERROR_INVALID_VALUE,
                  std::string(call) + " of " + Hex(bytes) + " bytes at " + Hex(address));
  }
  // Addresses of the device where nothing is: CUDA_ERROR_ILLEGAL_ADDRESS, behind which the process is to end.
  if (AddressRules::Get().Reaches(address, bytes, writes).value_or(true)) return CUDA_SUCCESS;
  return Breach("copies-reach-mapped-memory", CUDA_ERROR_ILLEGAL_ADDRESS,
                std::string(call) + " of " + Hex(bytes) + " bytes at " + Hex(address));
}

int MemoryRules::CheckFill(const char* call, uint64_t address, uint64_t bytes, uint64_t element) {
  // Address and pitch are multiples of the element.
  if (address % element != 0)
    return Breach("fills-are-aligned", CUDA_ERROR_INVALID_VALUE, std::string(call) + " at " + Hex(address));
  return CheckCopy(call, address, bytes, true);
}

}  // namespace tutti::gpu::strict
