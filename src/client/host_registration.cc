#include "client/host_registration.h"

#include <sys/mman.h>

#include <mutex>

#include "base/checked.h"
#include "client/context.h"
#include "client/memory.h"
#include "client/session.h"

namespace tutti::client {
namespace {

constexpr uint64_t kPage = 4096;

struct PageRange {
  uint64_t begin, bytes;
};

PageRange PagesOf(uint64_t address, uint64_t bytes) {
  const uint64_t begin = address & ~(kPage - 1);
  return {begin, AlignUp(address + bytes, kPage) - begin};
}

void* At(uint64_t address) { return reinterpret_cast<void*>(address); }

// Puts the finished mapping `pages` in the place of `range`.
bool Replace(const PageRange& range, void* pages) {
  if (pages == MAP_FAILED) return false;
  if (mremap(pages, range.bytes, range.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, At(range.begin)) != MAP_FAILED)
    return true;
  munmap(pages, range.bytes);
  return false;
}

// Whole pages, with whatever else of the program's lies in them: no sanitizer is asked which parts are anybody's.
void CopyPages(void* to, const void* from, uint64_t bytes) { __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory"); }

// One mapping at a time: two ranges may share a page, which can be mapped once only.
std::mutex& MappingMutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

Answer<uint64_t> MapIntoWindow(Context& context, const Allocation& registered) {
  const PageRange range = PagesOf(registered.address, registered.bytes);
  CU_ASSIGN_OR_REFUSE(const uint64_t window, AskForMemory(context, wire::MemoryKind::kHost, range.bytes, kPage));
  CopyPages(At(window), At(range.begin), range.bytes);
  Session& session = Session::Get();
  const auto offset = static_cast<off_t>(window - session.connection().window_base());
  void* pages =
      mmap(nullptr, range.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, session.connection().window_fd(), offset);
  if (!Replace(range, pages)) {
    ReleaseMemory(window);
    return Refuse(cuda::CUDA_ERROR_OPERATING_SYSTEM);
  }
  return window + (registered.address - range.begin);
}

}  // namespace

int RegisterHost(Context& context, uint64_t address, uint64_t bytes, unsigned flags) {
  if (address == 0 || bytes == 0 || !CheckedAdd(address, bytes) || Session::Get().InWindow(address)) {
    return cuda::CUDA_ERROR_INVALID_VALUE;
  }
  const Allocation entry{.address = address,
                         .bytes = bytes,
                         .kind = AllocationKind::kRegistered,
                         .context = &context,
                         .host_address = address,
                         .flags = flags};
  if (!AllocationTable::Get().Insert(entry)) return cuda::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  if ((flags & cuda::CU_MEMHOSTREGISTER_DEVICEMAP) == 0) return cuda::CUDA_SUCCESS;
  const auto mapped = DeviceAddressOf(context, address);
  if (mapped) return cuda::CUDA_SUCCESS;
  UnregisterHost(address);
  return mapped.error();
}

int UnregisterHost(uint64_t address) {
  const auto taken =
      AllocationTable::Get().Take(address, [](const Allocation& a) { return a.kind == AllocationKind::kRegistered; });
  if (!taken) return cuda::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  if (const int status = taken->context->Synchronize(); taken->device_address != 0 && status != 0) return status;
  ReturnMemory(*taken);
  return cuda::CUDA_SUCCESS;
}

Answer<uint64_t> DeviceAddressOf(Context& context, uint64_t host_address) {
  std::lock_guard lock(MappingMutex());
  const auto found = AllocationTable::Get().Find(host_address);
  if (!found || found->host_address == 0) return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  uint64_t device_address = found->device_address;
  if (device_address == 0) {
    CU_ASSIGN_OR_REFUSE(const uint64_t mapped, MapIntoWindow(context, *found));
    device_address = mapped;
    AllocationTable::Get().Update(host_address, [&](Allocation& a) { a.device_address = device_address; });
    Allocation alias = *found;
    alias.address = alias.device_address = device_address;
    alias.kind = AllocationKind::kHost;
    AllocationTable::Get().Insert(alias);
  }
  return device_address + (host_address - found->address);
}

void UnmapRegistered(const Allocation& allocation) {
  if (allocation.device_address == 0) return;
  const PageRange range = PagesOf(allocation.address, allocation.bytes);
  void* pages = mmap(nullptr, range.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages != MAP_FAILED) CopyPages(pages, At(range.begin), range.bytes);
  // If there is no memory for that the window's pages stay where they are, and stay allocated.
  if (!Replace(range, pages)) return;
  AllocationTable::Get().Take(allocation.device_address, [](const Allocation&) { return true; });
  ReleaseMemory(allocation.device_address & ~(kPage - 1));
}

}  // namespace tutti::client
