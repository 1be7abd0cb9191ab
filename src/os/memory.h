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

// An anonymous memory file of `bytes` bytes of zeros, close-on-exec, sealed against any later change of its size: a
// peer that maps it can never be made to fault by the other side shrinking it. It takes no further seals: no peer can
// forbid us to map or to write what we have made. `name` is seen in /proc only. Where a
// limit on the size of files (ulimit -f) forbids it, that is an error and no signal.
Result<Fd> CreateMemory(std::string_view name, uint64_t bytes);

// The same with `bytes` in it, which nobody can change any more.
Result<Fd> CreateMemoryOf(std::string_view name, std::span<const uint8_t> bytes);

// Size of the memory file, and that it carries the size seals; for a descriptor that came from a peer.
Result<uint64_t> SealedMemorySize(int fd);

// That `fd` is of a memory file, which holds so many bytes at most: closing it waits for nobody, and frees no more than
// that. For a descriptor that came from a peer.
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
  // Not `accessible`: every access faults until mprotect says otherwise.
  static Result<Mapping> SharedAt(uint64_t address, int fd, uint64_t bytes, bool accessible = true);
  // Maps, for reading, all of a peer's memory file that nobody can change any more and that has every page in place, so
  // reading takes no memory and shows the same for ever. CreateMemoryOf makes such files. Fails for any other, for an
  // empty one, and above `most_bytes`.
  static Result<Mapping> Constant(int fd, uint64_t most_bytes);
  // Maps `bytes` of zeroed private memory, not reserved against swap.
  static Result<Mapping> Anonymous(uint64_t bytes);

  uint8_t* data() const { return static_cast<uint8_t*>(data_); }
  uint64_t size() const { return bytes_; }
  explicit operator bool() const { return data_ != nullptr; }
  void Unmap();
  // Gives up ownership without unmapping.
  void Release() {
    data_ = nullptr;
    bytes_ = 0;
  }

 private:
  Mapping(void* data, uint64_t bytes) : data_(data), bytes_(bytes) {}
  void* data_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace tutti::os
