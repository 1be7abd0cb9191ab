// The access policy: the single place that decides who may see and change what. The kernel identifies the caller
// (daemon/access/visitor.h): administrators may do everything, users at home what concerns their own server and
// clients, and guests see and end their own clients. Thread-safe.
#pragma once

#include "daemon/access/visitor.h"
#include "wire/server_messages.h"

namespace tutti::daemon {

class AccessPolicy {
 public:
  // `multi_user`: one server serves everybody.
  explicit AccessPolicy(bool multi_user) : multi_user_(multi_user) {}

  // Callers see their user's servers; in multi-user mode all see the one server, but only their own of its clients.
  bool MaySeeServerOf(const Visitor& visitor, uid_t owner) const {
    return visitor.administrator || owner == visitor.served_as || multi_user_;
  }
  bool MayChangeServerOf(const Visitor& visitor, uid_t owner) const {
    return visitor.administrator || (visitor.at_home && owner == visitor.uid);
  }
  // A caller who sees a client may end it.
  bool MaySee(const Visitor& visitor, const wire::ClientStatus& client) const;

 private:
  bool multi_user_;
};

}  // namespace tutti::daemon
