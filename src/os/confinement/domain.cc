#include "os/confinement/domain.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "os/confinement/sanitized.h"
#include "os/fd.h"

namespace tutti::os {
namespace {

// As in linux/landlock.h; the installed header may be older than the kernel.
constexpr uint64_t kExecute = 1u << 0, kWriteFile = 1u << 1, kRemove = 3u << 4, kMakeDevices = 1u << 6 | 1u << 11,
                   kMakeOthers = 1u << 7 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 12, kRefer = 1u << 13,
                   kTruncate = 1u << 14;
constexpr uint64_t kOfFiles = kWriteFile | kTruncate;  // the others are of directories
constexpr uint64_t kScopeAbstractSockets = 1u << 0, kScopeSignals = 1u << 1;
constexpr long kFirstWithRefer = 2, kFirstWithTruncate = 3, kFirstWithScopes = 6;  // versions

struct Ruleset {
  uint64_t handled_files = 0;
  uint64_t handled_network = 0;
  uint64_t scoped = 0;
};

struct [[gnu::packed]] PathBeneath {
  uint64_t allowed = 0;
  int32_t parent = -1;
};
constexpr int kPathBeneath = 1;

uint64_t WritingIn(long version) {
  return kWriteFile | kRemove | kMakeOthers | (version >= kFirstWithRefer ? kRefer : 0) |
         (version >= kFirstWithTruncate ? kTruncate : 0);
}

Status Allow(const Fd& rules, const std::string& path, uint64_t rights) {
  const Fd parent(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info{};
  if (!parent || fstat(parent.get(), &info) != 0) return {};
  const PathBeneath below{.allowed = S_ISDIR(info.st_mode) ? rights : rights & kOfFiles, .parent = parent.get()};
  if (syscall(SYS_landlock_add_rule, rules.get(), kPathBeneath, &below, 0) != 0)
    return FailErrno("a rule of a Landlock domain");
  return {};
}

}  // namespace

Status EnterDomain(const Domain& domain) {
  if (kSanitized) return {};
  constexpr unsigned kAskVersion = 1;
  constexpr size_t kFilesOnly = sizeof(Ruleset::handled_files);
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  if (version < 0) return FailErrno("Landlock");
  const uint64_t writing = domain.written_below ? WritingIn(version) : 0;
  const Ruleset ruleset{.handled_files = kMakeDevices | (domain.starts_programs ? 0 : kExecute) | writing,
                        .handled_network = 0,
                        .scoped = kScopeAbstractSockets | kScopeSignals};
  const Fd rules(static_cast<int>(
      syscall(SYS_landlock_create_ruleset, &ruleset, version >= kFirstWithScopes ? sizeof ruleset : kFilesOnly, 0)));
  if (!rules) return FailErrno("a Landlock domain");
  for (const std::string& path : domain.written_below.value_or(std::vector<std::string>()))
    TUTTI_TRY(Allow(rules, path, writing));
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return FailErrno("NO_NEW_PRIVS");
  if (syscall(SYS_landlock_restrict_self, rules.get(), 0) != 0) return FailErrno("entering a Landlock domain");
  return {};
}

}  // namespace tutti::os
