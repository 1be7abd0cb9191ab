// What the next daemon needs to continue where this one stops, if this one is killed: its settings, as the commands
// that make them, and its servers. The file is replaced atomically. It is valid for daemons with the same options,
// until the machine, or the container, restarts.
//
// What is not in it is lost with the daemon: clients that were not served yet, unanswered commands, restart back-off.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "control/places.h"
#include "daemon/servers/server_left.h"
#include "os/fd.h"

namespace tutti::daemon {

struct DaemonState {
  // Of the command line: what the settings mean depends on it.
  int protocol = 2;
  bool multi_user = false;
  bool static_partitioning = false;
  std::vector<std::string> commands;
  std::vector<ServerRecord> servers;

  bool SameWayAs(const DaemonState& other) const {
    return protocol == other.protocol && multi_user == other.multi_user &&
           static_partitioning == other.static_partitioning;
  }
};

class StateFile {
 public:
  explicit StateFile(control::Places places) : places_(std::move(places)) {}

  // Writes the state if it has changed. If that fails, logs it once, leaves no state, since an outdated one would take
  // restrictions back, and returns false.
  bool Keep(const DaemonState& state);
  // If somebody has removed the file, the next Keep writes it again.
  void ForgetIfGone();
  // What a killed daemon has left; nothing if none was killed here since the machine, or the container, was started.
  // Fails if the file is not this user's, or names a server that a daemon of this user could not have started.
  Result<std::optional<DaemonState>> Read() const;
  // Removes it with the whole directory of the servers: the daemon ends normally.
  void Remove();

 private:
  Status Write(const std::vector<uint8_t>& bytes);

  const control::Places places_;
  os::Fd directory_;  // open from the first Keep on
  std::vector<uint8_t> kept_;
  std::string problem_;
};

// The two halves of it, for tests. Fails if the bytes are cut short, or of a form that this version does not know.
std::vector<uint8_t> Pack(const DaemonState& state);
Result<std::optional<DaemonState>> Unpack(const std::vector<uint8_t>& bytes);

}  // namespace tutti::daemon
