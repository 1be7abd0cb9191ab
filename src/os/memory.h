// Shared memory that travels as file descriptors, and mappings of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::os {

// An anonymous memory file of `bytes` bytes of zeros, close-on-exec, sealed against any later change of its size: no
// side can make the other fault by shrinking it. Further seals are refused, so a peer cannot forbid us to map or write
// our own file. `name` shows in /proc only. A limit on file sizes (ulimit -f) gives an error, not a signal.
Result<Fd> CreateMemory(std::string_view name, uint64_t bytes);

// The same with `bytes` as its content, sealed against writing.
Result<Fd> CreateMemoryOf(std::string_view name, std::span<const uint8_t> bytes);

// The size of a peer's memory file; fails unless it carries the size seals.
Result<uint64_t> SealedMemorySize(int fd);

// Whether a peer's descriptor is a memory file of at most `most_bytes`: closing it never blocks and frees no more than
// that.
bool IsMemory(int fd, uint64_t most_bytes);

// One mapping; unmapped with its owner. Movable.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping() { Unmap(); }

  // Maps `bytes` of `fd` shared at any address.
  static Result<Mapping> Shared(int fd, uint64_t bytes, bool writable = true);
  // Maps `bytes` of `fd` shared at exactly `address`; an error, of code EEXIST, if anything is mapped there already.
  // Not `accessible`: mapped PROT_NONE.
  static Result<Mapping> SharedAt(uint64_t address, int fd, uint64_t bytes, bool accessible = true);
  // Maps a peer's whole memory file read-only. The file must be sealed against writing and have every page allocated,
  // as those of CreateMemoryOf, so that reading takes no memory and the content never changes. Fails for any other
  // file, an empty one, and above `most_bytes`.
  static Result<Mapping> Constant(int fd, uint64_t most_bytes);
  // Maps `bytes` of zeroed private memory, not reserved against swap.
  static Result<Mapping> Anonymous(uint64_t bytes);

  uint8_t* data() const { return static_cast<uint8_t*>(data_); }
  uint64_t size() const { return bytes_; }
  explicit operator bool() const { return data_ != nullptr; }
  void Unmap();
  // Releases ownership without unmapping.
  void Release() {
    data_ = nullptr;
    bytes_ = 0;
  }

 private:
  Mapping(void* data, uint64_t bytes) : data_(data), bytes_(bytes) {}
  void* data_ = nullptr;
  uint64_t bytes_ = 0;
};

// A memory file as CreateMemory's of `bytes` zeros that others can read and only this process writes: `mine` is its
// mapping, and no other that can be written is ever made. Linux before 5.1 has no such files: there others can write.
Result<Fd> CreateReadableMemory(std::string_view name, uint64_t bytes, Mapping* mine);

// The same for a writer that is another process: the file, whose size is sealed; SealForReaders once that has mapped
// it.
Result<Fd> CreateMemoryForWriter(std::string_view name, uint64_t bytes);
Status SealForReaders(const Fd& file);

}  // namespace tutti::os
