#include "control/open_files.h"

#include <fmt/format.h>
#include <sys/resource.h>

namespace tutti::control {

Result<uint64_t> RaiseOpenFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return FailErrno("the limit on open files");
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  if (limit.rlim_cur < limit.rlim_max && setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  constexpr uint64_t kLeast = kFilesOfServer + kFilesPerClient + 3;  // the rest is FilesForHostMemory
  static_assert(MostClients(kLeast) >= 1);
  if (limit.rlim_cur >= kLeast) return limit.rlim_cur;
  return Fail(fmt::format(
      "the hard limit on open files is {}, and a server needs {} for one client and {} for each more: raise it "
      "(ulimit -Hn as root, LimitNOFILE= of a unit, --ulimit nofile= of a container)",
      limit.rlim_cur, kLeast, kFilesPerClient));
}

}  // namespace tutti::control
