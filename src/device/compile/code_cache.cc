#include "device/compile/code_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "os/directory_listing.h"

namespace tutti::device {
namespace {

constexpr uint64_t kTrailerMagic = 0x31454843'41434954;  // "TICACHE1"
constexpr uint64_t kMaxEntryBytes = 1ull << 30;
constexpr time_t kTemporaryFileSeconds = 3600;  // a file still being written after that never will be complete
constexpr std::string_view kTemporaryPrefix = "new-";

struct Trailer {
  uint64_t magic;
  uint64_t bytes;
  CacheKey checksum;
};

Status WriteAll(int fd, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return FailErrno("writing to the code cache");
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

bool ReadAll(int fd, std::span<uint8_t> into) {
  for (size_t done = 0; done < into.size();) {
    const ssize_t count = pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

// The entry's bytes if the file is ours, ends in a trailer, and has the trailer's checksum.
std::optional<std::vector<uint8_t>> ReadChecked(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 022) != 0)
    return std::nullopt;
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size < sizeof(Trailer) || size > kMaxEntryBytes) return std::nullopt;
  std::vector<uint8_t> bytes(size);
  if (!ReadAll(fd, bytes)) return std::nullopt;
  Trailer trailer;
  std::memcpy(&trailer, bytes.data() + size - sizeof trailer, sizeof trailer);
  bytes.resize(size - sizeof trailer);
  if (trailer.magic != kTrailerMagic || trailer.bytes != bytes.size() || trailer.checksum != HashOf(bytes))
    return std::nullopt;
  return bytes;
}

struct FileInfo {
  std::string name;
  uint64_t bytes;
  timespec used;
};

// Least recently used first. Removes leftovers of processes that died while writing.
std::vector<FileInfo> ListEntries(int folder) {
  std::vector<FileInfo> entries;
  for (const auto& [name, info] : os::ListDirectory(folder).value_or(os::DirectoryEntries{})) {
    if (!S_ISREG(info.st_mode)) continue;
    if (name.starts_with(kTemporaryPrefix)) {
      if (info.st_mtim.tv_sec + kTemporaryFileSeconds < time(nullptr)) unlinkat(folder, name.c_str(), 0);
      continue;
    }
    entries.push_back({name, static_cast<uint64_t>(info.st_size), info.st_mtim});
  }
  std::sort(entries.begin(), entries.end(), [](const FileInfo& a, const FileInfo& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  return entries;
}

}  // namespace

CodeCache::CodeCache(const std::string& folder, uint64_t max_bytes) : max_bytes_(max_bytes) {
  if (folder.empty()) return;
  auto opened = OpenCacheFolder(folder);
  if (!opened) {
    log::Warning("code cache: {}; using a temporary folder", opened.error().text);
    opened = MakeTemporaryCacheFolder();
  }
  if (!opened) {
    log::Warning("code cache: {}; compiled code is not kept", opened.error().text);
    return;
  }
  folder_ = std::move(*opened);
}

CodeCache::~CodeCache() {
  if (folder_.temporary) RemoveCacheFolder(folder_);
}

std::optional<CodeCache::Entry> CodeCache::Find(const CacheKey& key) {
  if (!folder_.fd) return std::nullopt;
  const std::string name = key.Hex();
  os::Fd file(openat(folder_.fd.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return std::nullopt;
  auto bytes = ReadChecked(file.get());
  if (!bytes) {
    log::Warning("code cache: {}/{} is damaged or not ours; compiling again", folder_.path, name);
    unlinkat(folder_.fd.get(), name.c_str(), 0);
    return std::nullopt;
  }
  futimens(file.get(), nullptr);  // marks it as used now
  return Entry{std::move(file), std::move(*bytes)};
}

Status CodeCache::Store(const CacheKey& key, std::span<const uint8_t> bytes) {
  if (!folder_.fd) return Fail("there is no code cache");
  if (bytes.size() > kMaxEntryBytes - sizeof(Trailer)) return Fail("too large for the code cache");
  const std::string temporary = fmt::format("{}{}-{}", kTemporaryPrefix, getpid(), next_temporary_++);
  os::Fd file(openat(folder_.fd.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return FailErrno(folder_.path);
  const Trailer trailer{kTrailerMagic, bytes.size(), HashOf(bytes)};
  auto written = WriteAll(file.get(), bytes);
  if (written) written = WriteAll(file.get(), {reinterpret_cast<const uint8_t*>(&trailer), sizeof trailer});
  if (written && renameat(folder_.fd.get(), temporary.c_str(), folder_.fd.get(), key.Hex().c_str()) != 0) {
    written = FailErrno(folder_.path);
  }
  if (!written) {
    unlinkat(folder_.fd.get(), temporary.c_str(), 0);
    return written;
  }
  KeepWithinLimit(bytes.size() + sizeof trailer);
  return {};
}

void CodeCache::KeepWithinLimit(uint64_t added) {
  const std::lock_guard lock(size_mutex_);
  known_bytes_ += added;
  stored_bytes_ += added;
  if (looked_ && known_bytes_ <= max_bytes_ && stored_bytes_ <= max_bytes_ / 16) return;
  looked_ = true;
  stored_bytes_ = 0;
  const auto entries = ListEntries(folder_.fd.get());
  known_bytes_ = 0;
  for (const FileInfo& entry : entries) known_bytes_ += entry.bytes;
  if (known_bytes_ <= max_bytes_) return;
  const uint64_t goal = max_bytes_ / 10 * 9;  // some headroom, so that not every store scans the folder
  for (const FileInfo& entry : entries) {
    if (known_bytes_ <= goal) break;
    if (unlinkat(folder_.fd.get(), entry.name.c_str(), 0) == 0) known_bytes_ -= entry.bytes;
  }
}

}  // namespace tutti::device
