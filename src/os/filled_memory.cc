#include "os/filled_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace tutti::os {

Result<Fd> CreateMemoryToFill(std::string_view name) {
  Fd fd(memfd_create(std::string(name).c_str(), MFD_CLOEXEC));
  if (!fd) return FailErrno("memfd_create");
  return fd;
}

Status FillMemory(int fd, std::span<const uint8_t> bytes) {
  const off_t begin = lseek(fd, 0, SEEK_CUR);
  rlimit limit{};
  // A write above the limit would raise SIGXFSZ.
  if (begin < 0 || getrlimit(RLIMIT_FSIZE, &limit) != 0) return FailErrno("a memory file to fill");
  if (static_cast<uint64_t>(begin) + bytes.size() > limit.rlim_cur) {
    return Fail(fmt::format("an answer of {} bytes: the limit on the size of files (ulimit -f) is {}", bytes.size(),
                            limit.rlim_cur));
  }
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return FailErrno("filling a memory file");
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Result<std::vector<uint8_t>> ReadFilledMemory(int fd, uint64_t most_bytes) {
  struct stat info{};
  if (fstat(fd, &info) != 0) return FailErrno("fstat of a memory file");
  if (static_cast<uint64_t>(info.st_size) > most_bytes) {
    return Fail(fmt::format("memory file of {} bytes, {} are allowed", info.st_size, most_bytes));
  }
  std::vector<uint8_t> bytes(static_cast<size_t>(info.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FailErrno("reading a memory file");
    if (got == 0) break;  // it was truncated
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace tutti::os
