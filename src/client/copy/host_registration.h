// The program's own host memory that it registers (cuMemHostRegister).
//
// Registering only notes the range. The pages stay the program's, so a write of another thread is never lost and memory
// that processes share stays shared. Copies from and to registered memory are asynchronous and in stream order,
// executed by this process (client/copy/host_copy.h). Mapping it for kernels is refused, with the remedy in the log:
// kernels reach only memory that the library allocated (docs/adr/0008).
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
