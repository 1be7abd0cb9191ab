#include "memory.h"

namespace tutti::fault {
namespace {

using namespace cuda;

// Addresses of pinned memory are the same for the host and the device.
void* Host(CUdeviceptr address) { return reinterpret_cast<void*>(address); }
CUdeviceptr Device(void* address) { return reinterpret_cast<CUdeviceptr>(address); }

constexpr MemoryWay kWays[] = {
    {"cuMemAlloc",
     [](ActorPage& page, size_t bytes) {
       CUdeviceptr address = 0;
       Check(page, "cuMemAlloc", cuMemAlloc_v2(&address, bytes));
       return address;
     },
     [](ActorPage& page, CUdeviceptr address, size_t) { Check(page, "cuMemFree", cuMemFree_v2(address)); }},
    {"cuMemAllocManaged",
     [](ActorPage& page, size_t bytes) {
       CUdeviceptr address = 0;
       Check(page, "cuMemAllocManaged", cuMemAllocManaged(&address, bytes, 1));
       return address;
     },
     [](ActorPage& page, CUdeviceptr address, size_t) { Check(page, "cuMemFree", cuMemFree_v2(address)); }},
    {"cuMemAllocAsync",
     [](ActorPage& page, size_t bytes) {
       CUdeviceptr address = 0;
       Check(page, "cuMemAllocAsync", cuMemAllocAsync(&address, bytes, nullptr));
       Check(page, "cuStreamSynchronize", cuStreamSynchronize(nullptr));
       return address;
     },
     [](ActorPage& page, CUdeviceptr address, size_t) {
       Check(page, "cuMemFreeAsync", cuMemFreeAsync(address, nullptr));
     }},
    {"cuMemAllocHost",
     [](ActorPage& page, size_t bytes) {
       void* host = nullptr;
       Check(page, "cuMemAllocHost", cuMemAllocHost_v2(&host, bytes));
       return Device(host);
     },
     [](ActorPage& page, CUdeviceptr address, size_t) { Check(page, "cuMemFreeHost", cuMemFreeHost(Host(address))); }},
    {"cuMemMap",
     [](ActorPage& page, size_t bytes) {
       CUmemAllocationProp properties{};
       properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
       properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
       constexpr int kReadWrite = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
       const CUmemAccessDesc access{.location = properties.location, .flags = kReadWrite};
       CUmemGenericAllocationHandle memory = 0;
       CUdeviceptr address = 0;
       Check(page, "cuMemAddressReserve", cuMemAddressReserve(&address, bytes, 0, 0, 0));
       Check(page, "cuMemCreate", cuMemCreate(&memory, bytes, &properties, 0));
       Check(page, "cuMemMap", cuMemMap(address, bytes, 0, memory, 0));
       Check(page, "cuMemSetAccess", cuMemSetAccess(address, bytes, &access, 1));
       Check(page, "cuMemRelease", cuMemRelease(memory));
       return address;
     },
     [](ActorPage& page, CUdeviceptr address, size_t bytes) {
       Check(page, "cuMemUnmap", cuMemUnmap(address, bytes));
       Check(page, "cuMemAddressFree", cuMemAddressFree(address, bytes));
     }},
};

}  // namespace

std::span<const MemoryWay> MemoryWays() { return kWays; }

}  // namespace tutti::fault
