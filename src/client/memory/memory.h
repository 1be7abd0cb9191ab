// Allocates memory from the server and frees it.
#pragma once

#include <cstdint>

#include "client/base/answer.h"
#include "client/context/context.h"
#include "client/memory/allocation_table.h"
#include "client/session/attachment.h"
#include "wire/ring_layout.h"

namespace tutti::client {

class Stream;

// Asks the server for something that takes memory, `on_device` or of the host. If there is not enough, waits for the
// work that uses freed memory, if any does, and asks once more. `ask` returns its reply. Thread-safe.
template <typename Ask>
ipc::Reply AskTwiceForMemory(Context& context, bool on_device, Ask ask) {
  ipc::Reply reply = ask();
  // Where nothing is freed, there is nothing to wait for, and some of the work may never end.
  const bool may_wait = !on_device || context.device().freed_bytes() != 0;
  if (reply.status == cuda::CUDA_ERROR_OUT_OF_MEMORY && (!may_wait || context.Synchronize() == 0)) reply = ask();
  return reply;
}

// Asks the server for memory, twice if need be. Thread-safe.
Answer<uint64_t> AskForMemory(Context& context, wire::MemoryKind kind, uint64_t bytes, uint64_t alignment = 256,
                              uint64_t wish = 0);
// Frees memory that AskForMemory returned, deferred until the work submitted so far is done: that of the stream, or, if
// it is null, of all streams.
void ReleaseMemory(uint64_t address, Stream* stream = nullptr);

// Waits until the server has processed earlier frees: a free is a one-way record, and a query for free memory must
// count it. Waits for no work.
void AwaitFrees();
// For a new session, whose ring starts at 0.
void ForgetFrees();

// Allocates memory and enters it in the allocation table. INVALID_VALUE for 0 bytes.
Answer<uint64_t> Allocate(Context& context, AllocationKind kind, uint64_t bytes, unsigned flags = 0);
// Frees an allocation that begins at `address` and is of a kind that `cuMemFree` and its variants accept (not host
// memory, globals or arrays). INVALID_VALUE otherwise, including a double free.
int FreeDeviceMemory(uint64_t address);
int FreeHostMemory(uint64_t address);

// Frees the memory behind a removed table entry, as ReleaseMemory does.
void ReturnMemory(const Allocation& allocation, Stream* stream = nullptr);
// Frees all memory of a context that ends; modules and mappings end by themselves.
void FreeAllOf(const Context& context);

}  // namespace tutti::client
