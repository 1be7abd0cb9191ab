// What of this machine is given to whom: by the directory that a program connects in.
//
// Who connects says nothing about what was given to it: all pods of a node may be one user, and where the daemon cannot
// see their processes there is no cgroup to ask for either. What nobody in a container can choose is what its runtime
// has mounted there. So each claim has a socket in a directory of its own, which is mounted into the container (or
// containers) that the claim was made for, and whoever comes to that socket has what the claim says: these devices, at
// most these shares, these partitions. What a program asks for itself can make it less and not more, and its shell
// administers nothing.
//
// So a container must not have the directory of all claims, or one above it: it could choose. Where claims are
// required, the daemon refuses who does (os/mount_view.h), as far as it sees that process.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "control/limits.h"
#include "wire/server_messages.h"

namespace tutti::daemon {

// In the pipe directory. Who has been told of a claim may go through it; only the daemon's user may list it.
inline constexpr const char* kClaimsDirectory = "claims";
inline constexpr mode_t kClaimsMode = 0711;

struct Claim {
  std::string name;
  std::vector<std::string> devices;  // UUIDs and ordinals, at least one
  std::vector<std::string> partitions;  // that may be named, as lspart has them
  std::optional<double> active_thread_percentage;
  control::MemoryLimits memory_limits;

  bool operator==(const Claim& other) const { return Words() == other.Words(); }
  // "claim add NAME DEVICES [threads=P] [memory=DEVICE=SIZE,...] [partitions=P,...]": makes it again.
  std::string Words() const;
};

// Of the words after "claim add". The error says which is wrong.
Result<Claim> ReadClaim(const std::vector<std::string>& words);

// Cuts `attach`, which is what the client would have without a claim, down to the claim on a server with these devices.
// NO_DEVICE if the server has none of the claim's; NOT_PERMITTED if the client names a partition that is not the
// claim's.
Status ApplyClaim(const Claim& claim, const std::vector<wire::ServedDevice>& devices, wire::Attach& attach);

class ClaimTable {
 public:
  const Claim* Find(const std::string& name) const;
  void Set(Claim claim) { claims_.insert_or_assign(claim.name, std::move(claim)); }
  void Remove(const std::string& name) { claims_.erase(name); }
  const std::map<std::string, Claim>& all() const { return claims_; }

  // Whether programs in containers need one. Those of the machine itself never do.
  bool required() const { return required_; }
  void Require(bool required) { required_ = required; }

 private:
  std::map<std::string, Claim> claims_;
  bool required_ = false;
};

}  // namespace tutti::daemon
