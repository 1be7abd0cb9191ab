// Host memory of the program's own that it registers (cuMemHostRegister).
//
// Registering notes the range and nothing else: the pages stay the program's, so a write of another thread is never
// lost and memory that processes share stays shared. What registered memory is for works: a copy from or to it is
// asynchronous and made in stream order, by this process itself (client/copy/host_copy.h). What would need the pages to
// be somebody else's is refused, with the remedy in the log: kernels reach only memory that the library allocated
// (docs/adr/0008).
#pragma once

#include <cstdint>

#include "client/base/answer.h"

namespace tutti::client {

class Context;

// HOST_MEMORY_ALREADY_REGISTERED if any of it is; INVALID_VALUE for null, 0 bytes or memory in the window;
// NOT_SUPPORTED if it is to be mapped for kernels.
int RegisterHost(Context& context, uint64_t address, uint64_t bytes, unsigned flags);
// Waits for the copies from and to it. HOST_MEMORY_NOT_REGISTERED unless a registered range begins there.
int UnregisterHost(uint64_t address);
// Whether all of [address, address + bytes) is registered as one range.
bool IsRegistered(uint64_t address, uint64_t bytes);
// The device's address of pinned host memory. NOT_SUPPORTED for registered memory.
Answer<uint64_t> DeviceAddressOf(uint64_t host_address);

}  // namespace tutti::client
