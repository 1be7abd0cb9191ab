// The little we need of ELF files: how far one reaches, and for which architecture a cubin is.
#pragma once

#include <cstdint>
#include <span>

namespace tutti::image {

// Bytes of the ELF64 file that starts at `header`, from its own headers: for a pointer of which no size is known. The
// section headers are read, so the file must be whole. 0: it is no ELF64 file, or its numbers make no sense.
uint64_t ElfBytes(const uint8_t* header);

// 80 for sm_80. 0: not a cubin.
uint32_t CubinArch(std::span<const uint8_t> bytes);

}  // namespace tutti::image
