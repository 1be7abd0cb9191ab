#include "client/copy/host_registration.h"

#include "base/checked.h"
#include "client/base/complaint.h"
#include "client/copy/host_copy.h"
#include "client/memory/allocation_table.h"
#include "client/session/attachment.h"
#include "cuda/types.h"

namespace tutti::client {
namespace {

int NotForKernels(const char* call, uint64_t address) {
  return Complain(cuda::CUDA_ERROR_NOT_SUPPORTED,
                  "{} of {:#x}: copies use registered memory where it lies, but kernels cannot reach it; allocate what "
                  "kernels are to share with cuMemHostAlloc (cudaHostAlloc, cudaMallocHost) or cuMemAllocManaged",
                  call, address);
}

// Also for memory that is released because its context ends.
void AwaitCopies(const Allocation& freed) { HostCopies::Get().Await(freed.address, freed.bytes); }

}  // namespace

int RegisterHost(Context& context, uint64_t address, uint64_t bytes, unsigned flags) {
  if (address == 0 || bytes == 0 || !CheckedAdd(address, bytes) || Attachment::Get().OnDevice(address))
    return cuda::CUDA_ERROR_INVALID_VALUE;
  if ((flags & cuda::CU_MEMHOSTREGISTER_DEVICEMAP) != 0)
    return NotForKernels("cuMemHostRegister with DEVICEMAP (cudaHostRegisterMapped)", address);
  const Allocation entry{.address = address,
                         .bytes = bytes,
                         .kind = AllocationKind::kRegistered,
                         .context = &context,
                         .host_address = address,
                         .flags = flags,
                         .freed = &AwaitCopies};
  return AllocationTable::Get().Insert(entry) ? cuda::CUDA_SUCCESS : cuda::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

int UnregisterHost(uint64_t address) {
  const auto taken =
      AllocationTable::Get().Take(address, [](const Allocation& a) { return a.kind == AllocationKind::kRegistered; });
  if (!taken) return cuda::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  return HostCopies::Get().Await(taken->address, taken->bytes);
}

bool IsRegistered(uint64_t address, uint64_t bytes) {
  const auto found = AllocationTable::Get().Find(address);
  return found && found->kind == AllocationKind::kRegistered && bytes <= found->bytes - (address - found->address);
}

Answer<uint64_t> DeviceAddressOf(uint64_t host_address) {
  const auto found = AllocationTable::Get().Find(host_address);
  if (!found || found->host_address == 0) return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  if (found->kind == AllocationKind::kRegistered)
    return Refuse(NotForKernels("cuMemHostGetDevicePointer", host_address));
  return found->device_address + (host_address - found->address);
}

}  // namespace tutti::client
