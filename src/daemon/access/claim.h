// Claims: entitlements to devices, bound to the directory through which a program connects.
//
// A peer's identity does not tell what it is entitled to: all pods of a node may run as one user, and if the daemon
// cannot see their processes it cannot learn their cgroups either. What a container cannot choose is what its runtime
// mounts into it. So each claim has a socket in a directory of its own, which is mounted into the container (or
// containers) that the claim was made for. Whoever connects to that socket gets what the claim grants: these devices,
// at most these shares, these partitions. A program's own settings can only lower that, and its shell administers
// nothing.
//
// A container must therefore not see the directory of all claims, or one above it, or it could choose a claim. Where
// claims are required, the daemon refuses clients that see it (os/mount_view.h), as far as it can inspect their
// process.
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

// In the pipe directory. Traversable for those who know a claim's name; only the daemon's user may list it.
inline constexpr const char* kClaimsDirectory = "claims";
inline constexpr mode_t kClaimsMode = 0711;

struct Claim {
  std::string name;
  std::vector<std::string> devices;  // UUIDs and ordinals, at least one
  std::vector<std::string> partitions;  // partitions that clients may name, as lspart prints them
  std::optional<double> active_thread_percentage;
  control::MemoryLimits memory_limits;

  bool operator==(const Claim& other) const { return Words() == other.Words(); }
  // "claim add NAME DEVICES [threads=P] [memory=DEVICE=SIZE,...] [partitions=P,...]": the command that creates it.
  std::string Words() const;
};

// Parses the words after "claim add". The error names the wrong one.
Result<Claim> ReadClaim(const std::vector<std::string>& words);

// Restricts `attach`, which holds what the client would get without a claim, to the claim, on a server with these
// devices. NO_DEVICE if the server has none of the claim's devices; NOT_PERMITTED if the client names a partition
// outside the claim.
Status ApplyClaim(const Claim& claim, const std::vector<wire::ServedDevice>& devices, wire::Attach& attach);

class ClaimTable {
 public:
  const Claim* Find(const std::string& name) const;
  void Set(Claim claim) { claims_.insert_or_assign(claim.name, std::move(claim)); }
  void Remove(const std::string& name) { claims_.erase(name); }
  const std::map<std::string, Claim>& all() const { return claims_; }

  // Whether programs in containers need a claim. Those of the host itself never do.
  bool required() const { return required_; }
  void Require(bool required) { required_ = required; }

 private:
  std::map<std::string, Claim> claims_;
  bool required_ = false;
};

}  // namespace tutti::daemon
