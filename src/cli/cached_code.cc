#include "cli/cached_code.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include "os/fd.h"

namespace tutti::cli {
namespace {

// An entry's name is its key (device/compile/cache_key.h) in hexadecimal.
bool IsEntry(std::string_view name) {
  constexpr size_t kDigits = 64;
  return name.size() == kDigits && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// `remove`: each entry that is counted.
Result<CachedCode> Walk(const std::string& folder, bool remove) {
  CachedCode code{.folder = folder};
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return code;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fd < 0 ? nullptr : fdopendir(fd), closedir);
  if (stream == nullptr) return FailErrno("cannot read the code cache " + folder);
  while (const dirent* item = readdir(stream.get())) {
    struct stat info{};
    if (!IsEntry(item->d_name) || fstatat(fd, item->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
      continue;
    if (remove && unlinkat(fd, item->d_name, 0) != 0) {
      if (errno == ENOENT) continue;  // a server was faster
      return FailErrno("cannot remove " + folder + "/" + item->d_name);
    }
    const time_t used = info.st_mtim.tv_sec;
    code.first_used = code.entries == 0 ? used : std::min(code.first_used, used);
    code.last_used = std::max(code.last_used, used);
    ++code.entries;
    code.bytes += static_cast<uint64_t>(info.st_size);
  }
  return code;
}

}  // namespace

Result<CachedCode> LookAtCachedCode(const std::string& folder) { return Walk(folder, false); }

Result<CachedCode> RemoveCachedCode(const std::string& folder) { return Walk(folder, true); }

}  // namespace tutti::cli
