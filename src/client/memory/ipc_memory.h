// Memory of other processes at addresses of this one (cuIpcOpenMemHandle, cuMemPoolImportPointer). The device maps it
// at reserved addresses; this process copies from and to it like any memory that it does not reach.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "client/base/answer.h"
#include "client/memory/allocation_table.h"
#include "client/memory/shared_memory.h"

namespace tutti::client {

class Context;

// Thread-safe.
class IpcMemory {
 public:
  static IpcMemory& Get();

  // What names the allocation that contains `address` and is of kind `kind`. INVALID_VALUE if none does.
  Answer<wire::ExportedMemory> Export(uint64_t address, AllocationKind kind);
  // Where the memory is for this process; the same address each time until it has been closed as often. It counts as
  // memory of `context`. INVALID_CONTEXT for memory of this very process.
  Answer<uint64_t> Open(Context& context, const wire::ExportedMemory& name);
  // INVALID_VALUE if nothing was opened at `address`.
  int Close(uint64_t address);
  // For a new session: nothing is open.
  void StartAgain();

 private:
  struct Opened {
    uint64_t address;
    uint32_t times;
  };
  Answer<uint64_t> Map(Context& context, const wire::ExportedMemory& name);
  void Forget(uint64_t address);

  std::mutex mutex_;
  std::map<uint64_t, Opened> opened_;  // by the memory's id
};

}  // namespace tutti::client
