// What code a program or library holds: counts over all its fat binaries, for a report.
#pragma once

#include <cstdint>
#include <set>
#include <span>

#include "base/error.h"

namespace tutti::image {

struct CodeCensus {
  uint32_t images = 0;    // fat binaries with kernels or functions in them: one for each translation unit
  uint32_t with_ptx = 0;  // of these, with PTX, or with machine code that carries it
  uint32_t unseen = 0;    // of the others, with machine code that was not looked into, being behind the limit
  std::set<uint32_t> ptx_archs;
  std::set<uint32_t> machine_archs;  // of the images without PTX: 80 for sm_80

  bool all_have_ptx() const { return with_ptx == images; }
};

// Counts the fat binaries in `bytes`, and adds them to `census`. Machine code is decompressed to look for PTX and for
// functions in it, up to `most_bytes` in all; what is behind counts as functions without PTX, and is
// unseen. Error: CUDA_ERROR_INVALID_IMAGE.
Status CountCode(std::span<const uint8_t> bytes, uint64_t most_bytes, CodeCensus* census);

}  // namespace tutti::image
