// Fat binaries: what nvcc embeds in a program. A header, then entries, each one compilation of the same source for one
// architecture; several fat binaries may follow each other, 8-aligned.
//
// Layout (reference: measured on builds of nvcc 13 with every option, and 2.3 GB of libraries):
//   header   u32 magic 0xBA55ED50, u16 version 1, u16 header bytes, u64 bytes that follow
//   entry    +0 u16 kind; +4 u32 header bytes; +8 u64 payload bytes, padded to 8; +16 u32 compressed bytes;
//            +24 u16 minor, u16 major; +28 u32 architecture; +40 u64 flags; +56 u64 uncompressed bytes
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"

namespace tutti::image {

enum class EntryKind : uint16_t { kPtx = 1, kElf = 2, kLtoIr = 8 };

enum EntryFlags : uint64_t {
  kFlagLz4 = 0x2000,
  kFlagZstd = 0x8000,
  kFlagArchSpecific = 0x100000,    // sm_90a
  kFlagFamilySpecific = 0x200000,  // sm_120f
};

struct FatbinEntry {
  EntryKind kind = EntryKind::kPtx;  // other numbers occur
  uint32_t arch = 0;                 // 75, 90, ...
  uint16_t version_major = 0;        // of PTX: the ISA's
  uint16_t version_minor = 0;
  uint64_t flags = 0;
  std::span<const uint8_t> payload;  // as stored, without padding
  uint64_t uncompressed_bytes = 0;   // 0: not compressed
  uint32_t unit = 0;                 // which of several fat binaries
};

struct Fatbins {
  uint32_t units = 0;
  std::vector<FatbinEntry> entries;
};

// The entries, as views into `bytes`. Zeros behind the last fat binary are padding. Error: CUDA_ERROR_INVALID_IMAGE,
// naming what is truncated.
Result<Fatbins> ReadFatbins(std::span<const uint8_t> bytes);

// The size of one fat binary, header included, from its header alone: for a pointer without a known size. `header`
// points to at least 16 bytes. 0: not a fat binary.
uint64_t FatbinBytes(const uint8_t* header);

// Error: CUDA_ERROR_INVALID_IMAGE for broken compression, or more than `limit` bytes.
Result<std::vector<uint8_t>> PayloadOf(const FatbinEntry& entry, uint64_t limit);

}  // namespace tutti::image
