// Huge pages behind the memory of clients. Where the system gives memory files pages of 4 KiB alone, as Linux does by
// default (shmem_enabled is `never`), the first touch of each costs a microsecond, and kernels that stream or jump
// around wait for translations.
#pragma once

#include <cstdint>

namespace tutti::device::cpu {

inline constexpr uint64_t kHugePageBytes = 2 << 20;

// Has the system make one huge page of the memory at this multiple of its size, which is mapped, of a memory file, and
// lies at such a multiple there. What it holds stays, and may be used meanwhile. False if the system makes none: it
// has no room for one, or never does. Takes tenths of a millisecond; where memory has to be tidied up, more.
bool MakeHugePage(uint64_t address);

}  // namespace tutti::device::cpu
