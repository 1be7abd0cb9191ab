#include "daemon/access/access_policy.h"

#include "daemon/access/memory_accounting.h"

namespace tutti::daemon {

bool AccessPolicy::MaySee(const Visitor& visitor, const wire::ClientStatus& client) const {
  if (visitor.administrator) return true;
  if (client.uid != visitor.uid) return false;
  if (visitor.at_home) return true;
  if (visitor.pid_namespace != 0) return client.pid_namespace == visitor.pid_namespace;
  if (!visitor.cgroup || visitor.cgroup->size() <= 1) return false;  // the root cgroup is shared by all
  return CgroupOf(client.pid) == *visitor.cgroup;
}

}  // namespace tutti::daemon
