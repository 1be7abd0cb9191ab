// Getting memory from the server and giving it back.
#pragma once

#include <cstdint>

#include "client/base/answer.h"
#include "client/memory/allocation_table.h"
#include "wire/ring_layout.h"

namespace tutti::client {

class Context;

// Asks the server for memory. Waits for work to finish and asks once more where freed memory is not free yet.
// Thread-safe.
Answer<uint64_t> AskForMemory(Context& context, wire::MemoryKind kind, uint64_t bytes, uint64_t alignment = 256);
// Gives memory back that AskForMemory returned; it is free once the work submitted so far is done.
void ReleaseMemory(uint64_t address);

// Waits until the server has taken what was freed before: a free is a one-way record, and whoever asks how much is free
// expects it counted. Waits for no work.
void AwaitFrees();
// For a new session, whose ring begins anew.
void ForgetFrees();

// Memory with an entry in the allocation table. INVALID_VALUE for 0 bytes.
Answer<uint64_t> Allocate(Context& context, AllocationKind kind, uint64_t bytes, unsigned flags = 0);
// Frees an allocation that begins at `address` and is of a kind that `cuMemFree` and its relatives take (not host
// memory, globals or arrays). INVALID_VALUE otherwise, so also for the second of two frees.
int FreeDeviceMemory(uint64_t address);
int FreeHostMemory(uint64_t address);

// What is behind a table entry that has been removed.
void ReturnMemory(const Allocation& allocation);
// Gives back all memory of a context that ends; modules and mappings end by themselves.
void FreeAllOf(const Context& context);

}  // namespace tutti::client
