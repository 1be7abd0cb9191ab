#include "server/confinement.h"

#include <linux/capability.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "os/confinement/call_filter.h"
#include "os/confinement/domain.h"

namespace tutti::server {
namespace {

// Where memory lies is for the system to say.
constexpr int kMoreForbidden[] = {SCMP_SYS(mbind), SCMP_SYS(migrate_pages), SCMP_SYS(move_pages),
                                  SCMP_SYS(set_mempolicy)};

bool HasCapability(const __user_cap_data_struct (&data)[2]) {
  return (data[0].permitted | data[0].effective | data[0].inheritable | data[1].permitted | data[1].effective |
          data[1].inheritable) != 0;
}

}  // namespace

std::vector<int> ForbiddenCalls() {
  const std::span<const int> all = os::CallsThatReachOut();
  std::vector<int> forbidden(all.begin(), all.end());
  forbidden.insert(forbidden.end(), std::begin(kMoreForbidden), std::end(kMoreForbidden));
  return forbidden;
}

Status DropCapabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return FailErrno("capget");
  if (!HasCapability(data)) return {};
  // Else root's programs would regain them by exec. Setting it needs a capability itself; without it, NO_NEW_PRIVS
  // holds.
  for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
  const __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) != 0) return FailErrno("capset");
  return {};
}

Status EnterDomain() { return os::EnterDomain({.starts_programs = false, .written_below = {}}); }

Status FilterSystemCalls() { return os::FilterCalls(kMoreForbidden); }

}  // namespace tutti::server
