#include "daemon/files/directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "os/fd.h"

namespace tutti::daemon {
namespace {

// In a user namespace without a mapping for the machine's root, the machine's directories belong to the overflow user.
// The owner of the root directory is trusted, since it can replace anything.
bool IsTrusted(uid_t uid) {
  struct stat root{};
  return uid == 0 || uid == geteuid() || (stat("/", &root) == 0 && uid == root.st_uid);
}

struct Objection {
  std::string what;
  std::string remedy;
};

std::unexpected<Error> Object(const Objection& objection, const std::string& variable) {
  return Fail(fmt::format("{}: {}, or set {} to another directory", objection.what, objection.remedy, variable));
}

Status CheckAbove(const std::string& path, const struct stat& info, const std::string& variable) {
  if (!IsTrusted(info.st_uid)) {
    return Object(
        {fmt::format("{} belongs to user {}, who could replace what is in it", path, info.st_uid), "make it root's"},
        variable);
  }
  if ((info.st_mode & S_IWOTH) != 0 && (info.st_mode & S_ISVTX) == 0) {
    return Object({fmt::format("everybody may replace what is in {}", path), fmt::format("`chmod o-w {}`", path)},
                  variable);
  }
  return {};
}

Status CheckItself(const std::string& path, const struct stat& info, const std::string& variable) {
  if (info.st_uid != geteuid()) {
    return Object({fmt::format("{} belongs to user {}, not to user {}", path, info.st_uid, geteuid()),
                   fmt::format("remove it, or `chown {} {}`", geteuid(), path)},
                  variable);
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Object({fmt::format("others may write to {} (mode {:04o})", path, info.st_mode & 07777),
                   fmt::format("`chmod go-w {}`", path)},
                  variable);
  }
  return {};
}

// Every component of `path`, itself included. False if a component does not exist.
Result<bool> CheckWay(const std::string& path, const std::string& variable, bool last_is_it) {
  for (size_t end = 0; end < path.size();) {
    end = std::min(path.find('/', end + 1), path.size());
    const std::string step = path.substr(0, end);
    const bool last = end == path.size();
    struct stat info{};
    if (lstat(step.c_str(), &info) != 0) return false;
    if (S_ISLNK(info.st_mode)) {
      if (!IsTrusted(info.st_uid)) {
        return Object({fmt::format("{} is a link that user {} has made", step, info.st_uid), "remove it"}, variable);
      }
      char target[PATH_MAX];
      if (realpath(step.c_str(), target) == nullptr) return false;
      TUTTI_ASSIGN(const bool there, CheckWay(target, variable, last && last_is_it));
      if (!there) return false;
    } else if (last && last_is_it) {
      TUTTI_TRY(CheckItself(step, info, variable));
    } else {
      TUTTI_TRY(CheckAbove(step, info, variable));
    }
  }
  return true;
}

// Sets the mode of a just created directory; never of something put in its place.
Status SetMode(const std::string& path) {
  const os::Fd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (!fd || fstat(fd.get(), &info) != 0) return FailErrno("cannot open " + path);
  if (info.st_uid == geteuid() && fchmod(fd.get(), 0755) != 0) return FailErrno("cannot set the mode of " + path);
  return {};
}

}  // namespace

Status CheckDirectory(const std::string& path, const std::string& variable) {
  struct stat root{};
  if (stat("/", &root) == 0) TUTTI_TRY(CheckAbove("/", root, variable));
  TUTTI_TRY(CheckWay(path, variable, true));
  return {};
}

Status MakeTrustedDirectory(const std::string& path, const std::string& variable) {
  TUTTI_TRY(CheckDirectory(path, variable));
  TUTTI_TRY(MakeDirectory(path));
  TUTTI_ASSIGN(const bool there, CheckWay(path, variable, true));
  if (!there)
    return Fail(
        fmt::format("somebody makes and removes {} at this moment: set {} to another directory", path, variable));
  return {};
}

Status MakeDirectory(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash > 0 && access(path.substr(0, slash).c_str(), F_OK) != 0) {
    TUTTI_TRY(MakeDirectory(path.substr(0, slash)));
  }
  if (mkdir(path.c_str(), 0755) == 0) return SetMode(path);
  if (errno != EEXIST) {
    return FailErrno(
        fmt::format("cannot make the directory {} (make what is above it writable for user {}, or choose another one)",
                    path, geteuid()));
  }
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return FailErrno("cannot look at " + path);
  if (!S_ISDIR(info.st_mode)) return Fail(fmt::format("{} is not a directory: remove it or choose another one", path));
  if (access(path.c_str(), R_OK | W_OK | X_OK) != 0) {
    return FailErrno(
        fmt::format("cannot use the directory {} as user {} (change its mode or choose another one)", path, geteuid()));
  }
  return {};
}

}  // namespace tutti::daemon
