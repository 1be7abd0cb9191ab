#include "device/compile/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <vector>

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
  DIR* const entries = opendir(base.c_str());
  if (entries == nullptr) return;
  std::vector<std::string> names;
  while (const dirent* const entry = readdir(entries)) {
    if (std::string_view(entry->d_name).starts_with(kTemporaryName)) names.emplace_back(entry->d_name);
  }
  closedir(entries);
  for (const std::string& name : names) {
    struct stat info;
    const std::string path = base + "/" + name;
    // Only our own: OpenCacheFolder creates what is missing and reports what is wrong with others'.
    if (lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid()) continue;
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
  if (info.st_uid != geteuid()) return Fail(fmt::format("{}: belongs to user {}, not to us", path, info.st_uid));
  if ((info.st_mode & 022) != 0)
    return Fail(fmt::format("{}: others can write to it (mode {:o})", path, info.st_mode & 07777));
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
  const int listed = dup(folder.fd.get());
  DIR* const entries = listed >= 0 ? fdopendir(listed) : nullptr;
  if (entries == nullptr) {
    if (listed >= 0) close(listed);
    return;
  }
  rewinddir(entries);
  while (const dirent* const entry = readdir(entries)) unlinkat(folder.fd.get(), entry->d_name, 0);
  closedir(entries);
  rmdir(folder.path.c_str());
}

}  // namespace tutti::device
