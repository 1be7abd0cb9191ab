// The little we need of ELF files: the size of one, a section by its name, and a cubin's architecture.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tutti::image {

// Bytes of the ELF64 file that starts at `header`, from its own headers: for a pointer without a known size. Reads the
// section headers, so the file must be complete. 0: no ELF64 file, or inconsistent numbers.
uint64_t ElfBytes(const uint8_t* header);

// 80 for sm_80. 0: not a cubin.
uint32_t CubinArch(std::span<const uint8_t> bytes);

// How many bytes those sections take where the file is loaded (SHF_ALLOC), whether it has their contents or not; at
// most the largest number. Of names as below. Error: as below, of the table.
Result<uint64_t> BytesWhenLoaded(std::span<const uint8_t> bytes, std::span<const std::string_view> names);

// The contents of all sections with this name, or with this name, a point and a suffix (".text" and ".text.main"), as
// views into `bytes`, in the file's order. Error: CUDA_ERROR_INVALID_IMAGE if the table of sections, or one of that
// name, exceeds the file, or if such a section is compressed.
Result<std::vector<std::span<const uint8_t>>> SectionsNamed(std::span<const uint8_t> bytes, std::string_view name);

}  // namespace tutti::image
