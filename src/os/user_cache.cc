#include "os/user_cache.h"

#include <pwd.h>
#include <unistd.h>

#include "os/program.h"

namespace tutti::os {
namespace {

std::string HomeFolder() {
  if (std::string home = Environment("HOME"); home.starts_with('/')) return home;
  const passwd* user = getpwuid(geteuid());
  return user != nullptr && user->pw_dir != nullptr ? user->pw_dir : "";
}

}  // namespace

std::string UserCacheFolder() {
  if (std::string folder = Environment("TUTTI_CACHE_DIR"); !folder.empty()) return folder;
  if (geteuid() == 0) return "/var/cache/tutti";
  if (std::string folder = Environment("XDG_CACHE_HOME"); folder.starts_with('/')) return folder + "/tutti";
  const std::string home = HomeFolder();
  return home.empty() ? "" : home + "/.cache/tutti";
}

}  // namespace tutti::os
