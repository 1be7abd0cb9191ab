#include "os/memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace tutti::os {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr uint64_t kBlock = 512;  // of st_blocks, whatever the file system

// A file above the process's limit raises SIGXFSZ, which ends a program that does not expect it.
Status CheckLimit(uint64_t bytes) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur) return {};
  return Fail(fmt::format("a memory file of {} bytes: the limit on the size of files (ulimit -f) is {}", bytes,
                          limit.rlim_cur));
}

Result<Fd> CreateUnsealed(std::string_view name) {
  Fd fd(memfd_create(std::string(name).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return FailErrno("memfd_create");
  return fd;
}

// Adds these seals and forbids any others.
Status Seal(const Fd& fd, int seals) {
  if (fcntl(fd.get(), F_ADD_SEALS, seals | F_SEAL_SEAL) != 0) return FailErrno("sealing shared memory");
  return {};
}

}  // namespace

Result<Fd> CreateMemory(std::string_view name, uint64_t bytes) {
  TUTTI_ASSIGN(Fd fd, CreateUnsealed(name));
  TUTTI_TRY(CheckLimit(bytes));
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return FailErrno("ftruncate of shared memory");
  TUTTI_TRY(Seal(fd, kSizeSeals));
  return fd;
}

Result<Fd> CreateMemoryOf(std::string_view name, std::span<const uint8_t> bytes) {
  TUTTI_ASSIGN(Fd fd, CreateUnsealed(name));
  TUTTI_TRY(CheckLimit(bytes.size()));
  while (!bytes.empty()) {
    const ssize_t written = write(fd.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return FailErrno("writing a memory file");
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  TUTTI_TRY(Seal(fd, kSizeSeals | F_SEAL_WRITE));
  return fd;
}

Result<Fd> CreateMemoryForWriter(std::string_view name, uint64_t bytes) {
  TUTTI_ASSIGN(Fd fd, CreateUnsealed(name));
  TUTTI_TRY(CheckLimit(bytes));
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return FailErrno("ftruncate of shared memory");
  if (fcntl(fd.get(), F_ADD_SEALS, kSizeSeals) != 0) return FailErrno("sealing shared memory");
  return fd;
}

Status SealForReaders(const Fd& file) {
  if (Seal(file, F_SEAL_FUTURE_WRITE)) return {};
  return Seal(file, 0);
}

Result<Fd> CreateReadableMemory(std::string_view name, uint64_t bytes, Mapping* mine) {
  TUTTI_ASSIGN(Fd fd, CreateMemoryForWriter(name, bytes));
  TUTTI_ASSIGN(*mine, Mapping::Shared(fd.get(), bytes));
  TUTTI_TRY(SealForReaders(fd));
  return fd;
}

Result<uint64_t> SealedMemorySize(int fd) {
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals) return Fail("descriptor is not size-sealed shared memory");
  struct stat info;
  if (fstat(fd, &info) != 0) return FailErrno("fstat of shared memory");
  return static_cast<uint64_t>(info.st_size);
}

// Only memory files have seals, if only the one that forbids further seals.
bool IsMemory(int fd, uint64_t most_bytes) {
  struct stat info;
  return fcntl(fd, F_GET_SEALS) >= 0 && fstat(fd, &info) == 0 &&
         static_cast<uint64_t>(info.st_blocks) * kBlock <= most_bytes;
}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    Unmap();
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

Result<Mapping> Mapping::Shared(int fd, uint64_t bytes, bool writable) {
  void* data = mmap(nullptr, bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (data == MAP_FAILED) return FailErrno("mmap of shared memory");
  return Mapping(data, bytes);
}

Result<Mapping> Mapping::SharedAt(uint64_t address, int fd, uint64_t bytes, bool accessible) {
  void* const wanted = reinterpret_cast<void*>(address);
  void* data = mmap(wanted, bytes, accessible ? PROT_READ | PROT_WRITE : PROT_NONE,
                    MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0);
  if (data == MAP_FAILED) return FailErrno("mmap of the device window", errno == EEXIST ? EEXIST : 0);
  return Mapping(data, bytes);
}

Result<Mapping> Mapping::Constant(int fd, uint64_t most_bytes) {
  const int seals = fcntl(fd, F_GET_SEALS);
  // A file sealed against writing cannot have holes punched either.
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals || (seals & F_SEAL_WRITE) == 0) {
    return Fail("descriptor is not shared memory that is sealed against every change");
  }
  struct stat info;
  if (fstat(fd, &info) != 0) return FailErrno("fstat of shared memory");
  const auto bytes = static_cast<uint64_t>(info.st_size);
  if (bytes == 0) return Fail("empty shared memory");
  if (bytes > most_bytes)
    return Fail("shared memory of " + std::to_string(bytes) + " bytes, " + std::to_string(most_bytes) + " are allowed");
  if (static_cast<uint64_t>(info.st_blocks) * kBlock < bytes) return Fail("shared memory with holes in it");
  // Private, since Linux before 6.7 maps no such file shared.
  void* data = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) return FailErrno("mmap of shared memory");
  return Mapping(data, bytes);
}

Result<Mapping> Mapping::Anonymous(uint64_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return FailErrno("mmap");
  return Mapping(data, bytes);
}

void Mapping::Unmap() {
  if (data_ != nullptr) munmap(data_, bytes_);
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace tutti::os
