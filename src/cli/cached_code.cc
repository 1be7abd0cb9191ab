#include "cli/cached_code.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "os/directory_listing.h"
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
  const os::Fd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd && errno == ENOENT) return code;
  if (!fd) return FailErrno("cannot read the code cache " + folder);
  TUTTI_ASSIGN(const auto entries, os::ListDirectory(fd.get()));
  for (const auto& [name, info] : entries) {
    if (!IsEntry(name) || !S_ISREG(info.st_mode)) continue;
    if (remove && unlinkat(fd.get(), name.c_str(), 0) != 0) {
      if (errno == ENOENT) continue;  // a server was faster
      return FailErrno("cannot remove " + folder + "/" + name);
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
