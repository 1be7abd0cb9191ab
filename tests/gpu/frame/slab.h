// Physical memory with a descriptor, and where it is mapped: what the plan keeps clients' memory in.
#pragma once

#include <cstdint>

#include "frame/gpu.h"
#include "os/fd.h"

namespace tutti::gpu {

using PhysicalHandle = cuda::CUmemGenericAllocationHandle;

PhysicalHandle CreateSlab(cuda::CUdevice device, uint64_t bytes);      // exportable
PhysicalHandle CreatePhysical(cuda::CUdevice device, uint64_t bytes);  // not
os::Fd ExportSlab(PhysicalHandle handle);
// The same where the answer may be that the driver cannot: no descriptor then.
os::Fd TryNewSlab(cuda::CUdevice device, uint64_t bytes, PhysicalHandle* handle);
PhysicalHandle ImportSlab(int fd);

// Reserves addresses, at `hint` if the driver likes it.
cuda::CUdeviceptr ReserveAddresses(uint64_t bytes, cuda::CUdeviceptr hint = 0);
void MapSlab(cuda::CUdeviceptr at, uint64_t bytes, PhysicalHandle handle);
// For the device, to read and to write.
void SetAccess(cuda::CUdevice device, cuda::CUdeviceptr at, uint64_t bytes);
// All three.
cuda::CUdeviceptr PlaceSlab(cuda::CUdevice device, uint64_t bytes, PhysicalHandle handle, cuda::CUdeviceptr hint = 0);
void RemoveSlab(cuda::CUdeviceptr at, uint64_t bytes);  // unmapped, and the addresses given back

}  // namespace tutti::gpu
