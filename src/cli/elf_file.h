// An ELF file, as far as the doctor reads it: the library search path that was linked into it, and its sections. The
// file is untrusted; every number in it is checked. It is mapped, since libraries of kernels have hundreds of MiB.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "os/memory.h"

namespace tutti::cli {

class ElfFile {
 public:
  // Fails if it cannot be read or is no ELF file of 64 bits.
  static Result<ElfFile> Read(const std::string& path);

  // Contents of the section of that name; empty if there is none.
  std::span<const uint8_t> Section(std::string_view name) const;

  // The directories of DT_RPATH (searched before LD_LIBRARY_PATH) and DT_RUNPATH (after it), $ORIGIN expanded.
  std::vector<std::string> rpath() const { return SearchPath(15); }
  std::vector<std::string> runpath() const { return SearchPath(29); }
  bool dynamic() const { return !Section(".dynamic").empty(); }

 private:
  std::vector<std::string> SearchPath(int64_t tag) const;
  std::span<const uint8_t> bytes() const { return {mapping_.data(), mapping_.size()}; }
  // The `size` bytes at `offset`, or nothing if they exceed the file.
  std::span<const uint8_t> Bytes(uint64_t offset, uint64_t size) const;

  std::string directory_;  // of the file
  os::Mapping mapping_;
};

}  // namespace tutti::cli
