// The little we need of ELF files: the size of one, and a cubin's architecture.
#pragma once

#include <cstdint>
#include <span>

namespace tutti::image {

// Bytes of the ELF64 file that starts at `header`, from its own headers: for a pointer without a known size. Reads the
// section headers, so the file must be complete. 0: no ELF64 file, or inconsistent numbers.
uint64_t ElfBytes(const uint8_t* header);

// 80 for sm_80. 0: not a cubin.
uint32_t CubinArch(std::span<const uint8_t> bytes);

}  // namespace tutti::image
