// Huge pages behind the memory of clients. Where the system gives memory files pages of 4 KiB alone, as Linux does by
// default (shmem_enabled is `never`), the first touch of each costs microseconds, and kernels that stream or jump around
// wait for translations: a third of saxpy's time, and 40% of random reads.
#pragma once

#include <cstdint>

namespace tutti::device::cpu {

inline constexpr uint64_t kHugePageBytes = 2 << 20;

// Makes huge pages of this range, which is mapped, of a memory file, and lies at the same place of a huge page there. At
// most 64 MiB, and no longer than 20 ms: who allocates more than they use keeps the rest of the machine's memory free,
// and who waits for an allocation does not wait for memory to be tidied up. What there is already is kept, and may be
// used meanwhile. Where the system refuses, all stays as it is. Any thread.
void MakeHugePages(uint64_t begin, uint64_t end);

}  // namespace tutti::device::cpu
