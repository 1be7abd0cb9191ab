#include "daemon/control/claim_registry.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include "base/log.h"

namespace tutti::daemon {

Result<std::string> ClaimRegistry::Add(const Claim& claim) {
  const Route route{.claim = claim.name};
  // The claim's content may change; its directory stays.
  if (claims_.Find(claim.name) == nullptr) TUTTI_TRY(sockets_.Open(route));
  claims_.Set(claim);
  return sockets_.Directory(route);
}

bool ClaimRegistry::Restore(const std::vector<std::string>& words) {
  if (words.size() < 2 || words[0] != "claim" || words[1] != "add") return false;
  const auto claim = ReadClaim({words.begin() + 2, words.end()});
  const Result<std::string> made = claim ? Add(*claim) : std::unexpected(claim.error());
  if (!made) log::Error("A claim of the previous daemon is lost: {}: {}", fmt::join(words, " "), made.error().text);
  return true;
}

void ClaimRegistry::Remove(const std::string& name) {
  sockets_.Close({.claim = name});
  rmdir(sockets_.Directory({.claim = name}).c_str());
  claims_.Remove(name);
  broker_.ClaimTakenBack(name);
  connections_.CloseAllOf(name);
}

}  // namespace tutti::daemon
