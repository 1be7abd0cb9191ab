#include "device/cpu/code/cache_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace tutti::device::cpu {
namespace {

// Errors show when the folder itself is opened.
void MakeParents(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    mkdir(path.substr(0, slash).c_str(), geteuid() == 0 ? 0755 : 0700);
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
  const char* base = std::getenv("TMPDIR");
  std::string path = fmt::format("{}/tutti-cache-XXXXXX", base != nullptr && base[0] == '/' ? base : "/tmp");
  if (mkdtemp(path.data()) == nullptr) return FailErrno(path);
  TUTTI_ASSIGN(CacheFolder folder, OpenCacheFolder(path));
  folder.temporary = true;
  return folder;
}

}  // namespace tutti::device::cpu
