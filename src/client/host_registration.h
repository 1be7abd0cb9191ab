// Host memory of the program's own that it registers (cuMemHostRegister).
//
// Registering alone only notes the range: a copy from or to it works as for any host memory. When the program asks to
// use it in device code, the pages themselves move: memory is taken from the device window, the contents are copied,
// and the window's pages are mapped over the program's (mremap of a finished mapping, so there is no moment without
// them). From then on both addresses name the same memory. Threads that write to the range while it is being mapped
// lose those writes.
#pragma once

#include <cstdint>

#include "client/allocation_table.h"
#include "client/answer.h"

namespace tutti::client {

class Context;

// CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED if any of it is; INVALID_VALUE for null, 0 bytes or memory in the window.
int RegisterHost(Context& context, uint64_t address, uint64_t bytes, unsigned flags);
// HOST_MEMORY_NOT_REGISTERED unless a registered range begins there.
int UnregisterHost(uint64_t address);
// The device's address of registered or pinned host memory; maps registered memory when first asked.
Answer<uint64_t> DeviceAddressOf(Context& context, uint64_t host_address);
// Gives the program private pages of its own back, with the contents. For an entry that has left the table.
void UnmapRegistered(const Allocation& allocation);

}  // namespace tutti::client
