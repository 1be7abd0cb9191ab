// Files that executors hand over with answers. Whoever closes a stranger's file may wait as long as its owner likes
// (os/close_aside.h), so it is looked at before it is received.
#pragma once

#include "executor/protocol/request.h"

namespace tutti::device::gpu {

// Whether that is a file that such a request is answered with: a small memory file that describes a module, or a slab's
// memory, which a driver exports as a file of its device (our own: as a memory file). Closing those waits for nobody.
bool IsAnswer(executor::RequestKind kind, int file);

// Whether that may be the memory of a slab of so many bytes. What is in a driver's file is not known to others.
bool MayBeSlab(int file, uint64_t bytes);

}  // namespace tutti::device::gpu
