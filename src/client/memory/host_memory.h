// Memory of the host that processes share (cuMemCreate at a host location): this process maps its file where the device
// shows the memory to kernels, so both use one address (client/memory/physical_memory.h).
#pragma once

#include <cstdint>

#include "client/base/answer.h"

namespace tutti::client {

// The server's number of new memory, for MapMemory and DropImport. Whole pages. OUT_OF_MEMORY beyond the host memory
// that a process may have, or a number of pieces.
Answer<uint64_t> CreateHostMemory(uint64_t bytes);
// Maps it in this process, at reserved addresses. A forked child does not have it.
int ShowToHost(uint64_t address, uint64_t bytes, uint64_t number, bool writable);
// After this an access there is a fault, as to all reserved addresses.
void HideFromHost(uint64_t address, uint64_t bytes);

}  // namespace tutti::client
