#include "daemon/life/state_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/bytes.h"
#include "base/log.h"
#include "daemon/servers/rendezvous.h"
#include "os/pidfd.h"
#include "os/proc_text.h"

namespace tutti::daemon {
namespace {

constexpr uint32_t kFormat = 0x53545331;  // the last digit counts its versions
constexpr size_t kLeastServerBytes = 64;
constexpr size_t kLeastLimitBytes = 12;

// Identifies this boot of the machine, and this start of the container, if any: process ids mean nothing in another.
std::string Era() {
  constexpr size_t kBootIdBytes = 36;
  return os::TextOf("/proc/sys/kernel/random/boot_id", kBootIdBytes) + " " + std::to_string(os::StartTicks(1));
}

void PutServer(ByteWriter& out, const ServerRecord& server) {
  out.PutString(server.rendezvous);
  out.Put(static_cast<int32_t>(server.pid));
  out.Put(server.start_ticks);
  out.Put(server.version);
  out.PutString(server.plan.name);
  out.Put(static_cast<uint32_t>(server.plan.uid));
  out.PutString(server.plan.visible_devices);
  out.PutString(server.plan.log_file);
  out.Put(server.started_ns);
  out.PutString(server.started_for);
  out.Put(static_cast<uint8_t>(server.stopping));
  out.Put(static_cast<uint8_t>(server.forced));
  out.PutString(server.policy);
  out.Put(server.settings.active_thread_percentage);
  out.Put(static_cast<uint8_t>(server.settings.overrides_process));
  const auto& limits = server.settings.memory_limits.entries();
  out.Put(static_cast<uint32_t>(limits.size()));
  for (const auto& [device, bytes] : limits) {
    out.PutString(device);
    out.Put(bytes);
  }
}

ServerRecord GetServer(ByteReader& in) {
  ServerRecord server;
  server.rendezvous = in.GetString();
  server.pid = in.Get<int32_t>();
  server.start_ticks = in.Get<uint64_t>();
  server.version = in.Get<uint32_t>();
  server.plan.name = in.GetString();
  server.plan.uid = in.Get<uint32_t>();
  server.plan.visible_devices = in.GetString();
  server.plan.log_file = in.GetString();
  server.started_ns = in.Get<uint64_t>();
  server.started_for = in.GetString();
  server.stopping = in.Get<uint8_t>() != 0;
  server.forced = in.Get<uint8_t>() != 0;
  server.policy = in.GetString();
  server.settings.active_thread_percentage = in.Get<double>();
  server.settings.overrides_process = in.Get<uint8_t>() != 0;
  for (uint32_t left = in.GetCount(kLeastLimitBytes); left > 0; --left) {
    const std::string device = in.GetString();
    server.settings.memory_limits.Set(device, in.Get<uint64_t>());
  }
  return server;
}

constexpr char kName[] = "state";
constexpr char kFreshName[] = "state.new";

// The directory is opened once: whoever may rename it in the pipe directory cannot put another one in its place.
Status Replace(int directory, const std::vector<uint8_t>& bytes) {
  const os::Fd file(openat(directory, kFreshName, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return FailErrno("cannot create the state's file");
  if (write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return FailErrno("cannot write the state's file");
  if (renameat(directory, kFreshName, directory, kName) != 0) return FailErrno("cannot replace the state's file");
  return {};
}

// Empty if there is none.
Result<std::vector<uint8_t>> ReadIn(int directory) {
  const os::Fd file(openat(directory, kName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT) return {};
  struct stat info{};
  if (!file || fstat(file.get(), &info) != 0) return FailErrno("cannot read the previous daemon's state file");
  if (!S_ISREG(info.st_mode) || info.st_uid != geteuid())
    return Fail("the previous daemon's state file is not a regular file of this user");
  std::vector<uint8_t> bytes(static_cast<size_t>(info.st_size));
  if (read(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return FailErrno("cannot read the previous daemon's state file");
  return bytes;
}

}  // namespace

std::vector<uint8_t> Pack(const DaemonState& state) {
  ByteWriter out;
  out.Put(kFormat);
  out.PutString(Era());
  out.Put(static_cast<uint8_t>(state.protocol));
  out.Put(static_cast<uint8_t>(state.multi_user));
  out.Put(static_cast<uint8_t>(state.static_partitioning));
  out.Put(static_cast<uint32_t>(state.commands.size()));
  for (const std::string& command : state.commands) out.PutString(command);
  out.Put(static_cast<uint32_t>(state.servers.size()));
  for (const ServerRecord& server : state.servers) PutServer(out, server);
  return out.Take();
}

Result<std::optional<DaemonState>> Unpack(const std::vector<uint8_t>& bytes) {
  ByteReader in(bytes);
  if (in.Get<uint32_t>() != kFormat)
    return Fail("the daemon that was killed left its state in a form that this version does not know");
  const std::string era = Era();
  if (era.starts_with(' ')) return Fail("the machine's boot id cannot be read");
  if (in.GetString() != era && in.ok()) return std::nullopt;
  DaemonState state;
  state.protocol = in.Get<uint8_t>();
  state.multi_user = in.Get<uint8_t>() != 0;
  state.static_partitioning = in.Get<uint8_t>() != 0;
  for (uint32_t left = in.GetCount(sizeof(uint32_t)); left > 0; --left) state.commands.push_back(in.GetString());
  for (uint32_t left = in.GetCount(kLeastServerBytes); left > 0; --left) state.servers.push_back(GetServer(in));
  if (!in.ok() || !in.at_end()) return Fail("the previous daemon's state file is truncated");
  return state;
}

// Through a descriptor of its own, so that an outdated state can be removed when there is none left.
Status StateFile::Write(const std::vector<uint8_t>& bytes) {
  struct stat info{};
  if (!directory_ || fstat(directory_.get(), &info) != 0 || info.st_nlink == 0) {
    directory_.Reset();
    TUTTI_ASSIGN(directory_, OpenServersDirectory(places_));
  }
  const Status written = Replace(directory_.get(), bytes);
  if (!written) unlinkat(directory_.get(), kName, 0);
  return written;
}

bool StateFile::Keep(const DaemonState& state) {
  std::vector<uint8_t> bytes = Pack(state);
  if (bytes == kept_) return true;
  const Status kept = Write(bytes);
  kept_ = kept ? std::move(bytes) : std::vector<uint8_t>();
  if (!kept && kept.error().text != problem_) {
    log::Warning("If this daemon is killed, the next one will not know its settings and servers: {}",
                 kept.error().text);
  }
  problem_ = kept ? "" : kept.error().text;
  return kept.has_value();
}

Result<std::optional<DaemonState>> StateFile::Read() const {
  if (access(ServersDirectory(places_).c_str(), F_OK) != 0) return std::nullopt;
  TUTTI_ASSIGN(const os::Fd directory, OpenServersDirectory(places_));
  TUTTI_ASSIGN(const std::vector<uint8_t> bytes, ReadIn(directory.get()));
  if (bytes.empty()) return std::nullopt;
  TUTTI_ASSIGN(std::optional<DaemonState> state, Unpack(bytes));
  const auto foreign = [](const ServerRecord& server) { return server.plan.uid != geteuid(); };
  if (state && geteuid() != 0 && std::ranges::any_of(state->servers, foreign))
    return Fail("the previous daemon's state file names a server of another user");
  return state;
}

void StateFile::ForgetIfGone() {
  if (access((ServersDirectory(places_) + "/" + kName).c_str(), F_OK) != 0) kept_.clear();
}

void StateFile::Remove() {
  kept_.clear();
  directory_.Reset();
  const char* const files[] = {kName, kFreshName};
  RemoveServersDirectory(places_, files);
}

}  // namespace tutti::daemon
