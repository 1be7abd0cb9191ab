#include "device/compile/cache_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "os/directory_listing.h"

namespace tutti::device {
namespace {

// Errors show when the folder itself is opened.
void MakeParents(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    mkdir(path.substr(0, slash).c_str(), geteuid() == 0 ? 0755 : 0700);
  }
}

constexpr char kTemporaryName[] = "tutti-cache-";
constexpr int kMostAttempts = 10;

// Locked by us, and still there.
bool IsOursNow(const CacheFolder& folder) {
  struct stat info;
  return flock(folder.fd.get(), LOCK_EX | LOCK_NB) == 0 && fstat(folder.fd.get(), &info) == 0 && info.st_nlink != 0;
}

void RemoveLeftFolders(const std::string& base) {
  const os::Fd directory(open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const auto& [name, info] : os::ListDirectory(directory.get()).value_or(os::DirectoryEntries{})) {
    // Only our own: OpenCacheFolder creates what is missing and reports what is wrong with others'.
    if (!name.starts_with(kTemporaryName) || !S_ISDIR(info.st_mode) || info.st_uid != geteuid()) continue;
    const std::string path = base + "/" + name;
    if (const auto folder = OpenCacheFolder(path); folder && IsOursNow(*folder)) RemoveCacheFolder(*folder);
  }
}

}  // namespace

Result<CacheFolder> OpenCacheFolder(const std::string& path) {
  if (!path.starts_with('/')) return Fail(fmt::format("{}: the path of a code cache must be absolute", path));
  MakeParents(path);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return FailErrno(path);
  os::Fd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return FailErrno(path);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return FailErrno(path);
  if (info.st_uid != geteuid())
    return Fail(fmt::format("{}: belongs to user {}, not to user {}", path, info.st_uid, geteuid()));
  if ((info.st_mode & 022) != 0)
    return Fail(fmt::format("{}: others can write to it (mode {:o}): chmod go-w it", path, info.st_mode & 07777));
  return CacheFolder{path, std::move(fd), false};
}

Result<CacheFolder> MakeTemporaryCacheFolder() {
  const char* variable = std::getenv("TMPDIR");
  const std::string base = variable != nullptr && variable[0] == '/' ? variable : "/tmp";
  RemoveLeftFolders(base);
  for (int attempt = 0;; ++attempt) {
    std::string path = base + "/" + kTemporaryName + "XXXXXX";
    if (mkdtemp(path.data()) == nullptr) return FailErrno(path);
    auto folder = OpenCacheFolder(path);
    if (folder && IsOursNow(*folder)) {
      folder->temporary = true;
      return folder;
    }
    // Another server took it for abandoned in the moment before it was locked.
    if (attempt == kMostAttempts) return Fail(fmt::format("{}: cannot be locked", path));
  }
}

void RemoveCacheFolder(const CacheFolder& folder) {
  for (const os::DirectoryEntry& entry : os::ListDirectory(folder.fd.get()).value_or(os::DirectoryEntries{}))
    unlinkat(folder.fd.get(), entry.name.c_str(), 0);
  rmdir(folder.path.c_str());
}

}  // namespace tutti::device
