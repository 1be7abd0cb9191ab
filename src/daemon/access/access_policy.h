// Who may see and change what: the one place that decides it. What a caller is, the kernel says
// (daemon/access/visitor.h): administrators may do everything, users at home what concerns their own server and
// clients, guests see and end their own clients. Thread-safe.
#pragma once

#include "daemon/access/visitor.h"
#include "wire/server_messages.h"

namespace tutti::daemon {

class AccessPolicy {
 public:
  // `multi_user`: one server serves everybody.
  explicit AccessPolicy(bool multi_user) : multi_user_(multi_user) {}

  // Everybody sees the servers of their user; in multi-user mode all see the one server, and of its clients their own.
  bool MaySeeServerOf(const Visitor& visitor, uid_t owner) const {
    return visitor.administrator || owner == visitor.served_as || multi_user_;
  }
  bool MayChangeServerOf(const Visitor& visitor, uid_t owner) const {
    return visitor.administrator || (visitor.at_home && owner == visitor.uid);
  }
  // Who sees a client may end it.
  bool MaySee(const Visitor& visitor, const wire::ClientStatus& client) const;

 private:
  bool multi_user_;
};

}  // namespace tutti::daemon
