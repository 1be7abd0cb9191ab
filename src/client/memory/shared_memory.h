// Memory that another client of the server holds, or that this one shows at several addresses: what the server is asked
// for. It is kept apart from its addresses: an import has none until it is mapped.
#pragma once

#include <cstdint>

#include "client/base/answer.h"
#include "os/fd.h"
#include "wire/ring_layout.h"
#include "wire/share_handle.h"

namespace tutti::client {

// Thread-safe, all of them. Errors are the CUresults that the driver's functions return.

// What names the allocation of device or scratch memory that begins at `address` to other processes. NOT_SUPPORTED in a
// process with a server of its own, NOT_PERMITTED if its namespace does not share memory.
Answer<wire::ExportedMemory> ExportMemory(uint64_t address, bool end_with_largest = false);
// The same for memory of the host, by its number.
Answer<wire::ExportedMemory> ExportHostMemory(uint64_t number);
// A descriptor that stands for exported memory, and keeps it.
Answer<os::Fd> DescribeMemory(const wire::ExportedMemory& name);
// One that stands for a memory pool of that number.
Answer<os::Fd> DescribePool(uint64_t number);
// What such a descriptor says; it can be read any number of times. INVALID_VALUE if it is none.
Answer<wire::ShareHandle> ReadDescriptor(int fd);
// A copy of what another process made of a handle. INVALID_HANDLE if it is not one of this kind and version.
Answer<wire::ShareHandle> CheckHandle(const void* bytes, wire::ShareKind kind);

struct ImportedMemory {
  uint64_t number = 0;  // for MapMemory
  uint64_t bytes = 0;
  uint32_t device = 0;  // the server's number
  bool own = false;  // this process has exported it
  bool host = false;  // memory of the host (client/memory/host_memory.h)
};
// INVALID_HANDLE if it is gone or another server's, NOT_PERMITTED if a namespace's policy forbids it.
Answer<ImportedMemory> ImportMemory(const wire::ExportedMemory& name);
// All of a memory file, which this process maps for itself; in a process with a server of its own. NOT_SUPPORTED else.
Answer<ImportedMemory> ImportFile(int fd);
// Whether a descriptor is one for that: a memory file whose size is sealed, in such a process.
bool MayImportFile(int fd);
// What is mapped of it stays.
void DropImport(uint64_t number);

// Shows memory at reserved addresses, or hides it (kNone; `memory` is ignored).
int MapMemory(uint64_t address, uint64_t bytes, wire::MapAccess access, wire::MapSource source = {},
              uint64_t memory = 0);

// The word of 8 bytes at an address of the window now, before `add` is added to it.
Answer<uint64_t> AddToWord(uint64_t address, uint64_t add);

}  // namespace tutti::client
