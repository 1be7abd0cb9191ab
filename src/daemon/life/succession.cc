#include "daemon/life/succession.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/bytes.h"
#include "os/program.h"
#include "wire/limits.h"

extern char** environ;

namespace tutti::daemon {
namespace {

constexpr const char* kVariable = "TUTTI_SUCCESSION_FD";
// Magic number of the file; the last digit is its version.
constexpr uint32_t kWithoutConnections = 0x53545431;
constexpr uint32_t kWithoutRendezvous = 0x53545432;
constexpr uint32_t kFormat = 0x53545433;
constexpr size_t kLeastServerBytes = 40;
constexpr size_t kLeastConnectionBytes = 8;

std::vector<std::string> Strings(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::string> strings;
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find('\0', begin), all.size());
    strings.push_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return strings;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<int> DescriptorsOf(const Leaving& leaving) {
  std::vector<int> fds = leaving.sockets;
  fds.push_back(leaving.lock_fd);
  for (const auto& server : leaving.servers) {
    fds.push_back(server.process_fd);
    fds.push_back(server.channel_fd);
  }
  for (const auto& connection : leaving.connections) fds.push_back(connection.fd);
  return fds;
}

void KeepOverExec(const std::vector<int>& fds, bool keep) {
  for (const int fd : fds) fcntl(fd, F_SETFD, keep ? 0 : FD_CLOEXEC);
}

// A descriptor inherited from the older program.
os::Fd Take(ByteReader& in) {
  const int fd = in.Get<int32_t>();
  if (fd < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return os::Fd();
  return os::Fd(fd);
}

}  // namespace

Result<os::Fd> WriteSuccession(const Leaving& leaving) {
  ByteWriter out;
  out.Put(kFormat);
  out.Put(static_cast<uint32_t>(wire::kProtocolVersion));
  out.Put(static_cast<int32_t>(leaving.lock_fd));
  out.Put(static_cast<uint8_t>(leaving.of_manager));
  out.Put(static_cast<uint32_t>(leaving.sockets.size()));
  for (const int fd : leaving.sockets) out.Put(static_cast<int32_t>(fd));
  out.Put(static_cast<uint32_t>(leaving.commands.size()));
  for (const std::string& command : leaving.commands) out.PutString(command);
  out.Put(static_cast<uint32_t>(leaving.servers.size()));
  for (const auto& server : leaving.servers) {
    out.Put(static_cast<int32_t>(server.pid));
    out.Put(static_cast<int32_t>(server.process_fd));
    out.Put(static_cast<int32_t>(server.channel_fd));
    out.PutString(server.rendezvous);
    out.Put(server.start_ticks);
    out.Put(server.version);
    out.Put(static_cast<uint8_t>(server.forced));
    out.Put(static_cast<uint8_t>(server.silent));
    out.Put(server.next_serial);
    out.Put(server.unheard);
    out.PutString(server.plan.name);
    out.Put(static_cast<uint32_t>(server.plan.uid));
    out.PutString(server.plan.visible_devices);
    out.PutString(server.plan.log_file);
    out.Put(server.started_ns);
    ByteWriter devices;  // in the message format, readable for its own version only
    wire::Put(devices, wire::ServerReady{.devices = server.devices});
    out.PutBytes(devices.bytes());
  }
  out.Put(static_cast<uint32_t>(leaving.connections.size()));
  for (const auto& connection : leaving.connections) {
    out.Put(static_cast<int32_t>(connection.fd));
    out.PutBytes(connection.hello);
  }
  os::Fd file(memfd_create("tutti-succession", MFD_CLOEXEC));
  const auto bytes = out.bytes();
  if (!file || pwrite(file.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return FailErrno("memory file for the next program");
  }
  return file;
}

Result<Succession> ReadSuccession(int fd) {
  const off_t size = lseek(fd, 0, SEEK_END);
  std::vector<uint8_t> bytes(size > 0 ? static_cast<size_t>(size) : 0);
  if (pread(fd, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return FailErrno("reading what the older daemon left");
  ByteReader in(bytes);
  const auto format = in.Get<uint32_t>();
  if (format != kFormat && format != kWithoutRendezvous && format != kWithoutConnections)
    return Fail("the older daemon left its state in a form this version does not know");
  const bool same_messages = in.Get<uint32_t>() == wire::kProtocolVersion;
  Succession succession;
  succession.understands = same_messages;
  succession.inheritance.lock = Take(in);
  succession.inheritance.of_manager = in.Get<uint8_t>() != 0;
  for (uint32_t left = in.GetCount(sizeof(int32_t)); left > 0; --left)
    succession.inheritance.sockets.push_back(Take(in));
  for (uint32_t left = in.GetCount(sizeof(uint32_t)); left > 0; --left) succession.commands.push_back(in.GetString());
  for (uint32_t left = in.GetCount(kLeastServerBytes); left > 0; --left) {
    auto& server = succession.servers.emplace_back();
    server.launched.pid = in.Get<int32_t>();
    server.launched.process = Take(in);
    server.launched.channel = Take(in);
    server.version = same_messages ? wire::kProtocolVersion : 0u;
    if (format == kFormat) {
      server.launched.rendezvous = in.GetString();
      server.start_ticks = in.Get<uint64_t>();
      server.version = in.Get<uint32_t>();
      server.forced = in.Get<uint8_t>() != 0;
      server.silent = in.Get<uint8_t>() != 0;
      server.next_serial = in.Get<uint32_t>();
      server.unheard = in.Get<uint32_t>();
    }
    server.plan.name = in.GetString();
    server.plan.uid = in.Get<uint32_t>();
    server.plan.visible_devices = in.GetString();
    server.plan.log_file = in.GetString();
    server.started_ns = in.Get<uint64_t>();
    ByteReader devices(in.GetBytes());
    if (!same_messages) continue;
    if (auto ready = wire::GetServerReady(devices)) server.devices = std::move(ready->devices);
  }
  for (uint32_t left = format != kWithoutConnections ? in.GetCount(kLeastConnectionBytes) : 0; left > 0; --left) {
    auto& connection = succession.connections.emplace_back();
    connection.socket = Take(in);
    const auto hello = in.GetBytes();
    connection.hello.assign(hello.begin(), hello.end());
  }
  if (!in.ok()) return Fail("what the older daemon left is truncated");
  return succession;
}

Error Succeed(const Leaving& leaving) {
  const std::string program = os::ProgramPath();
  if (access(program.c_str(), X_OK) != 0) return FailErrno("cannot continue as " + program).error();
  auto file = WriteSuccession(leaving);
  if (!file) return file.error();
  const auto arguments = Strings("/proc/self/cmdline");
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with(std::string(kVariable) + "=")) environment.emplace_back(*entry);
  }
  environment.push_back(fmt::format("{}={}", kVariable, file->get()));
  auto kept = DescriptorsOf(leaving);
  kept.push_back(file->get());
  KeepOverExec(kept, true);
  execve(program.c_str(), Pointers(arguments).data(), Pointers(environment).data());
  const auto error = FailErrno("cannot continue as " + program);
  KeepOverExec(kept, false);
  return error.error();
}

Result<std::optional<Succession>> TakeSuccession() {
  const char* const text = std::getenv(kVariable);
  if (text == nullptr) return std::nullopt;
  const os::Fd file(std::atoi(text));
  unsetenv(kVariable);  // servers must not inherit it
  TUTTI_ASSIGN(Succession succession, ReadSuccession(file.get()));
  return std::optional(std::move(succession));
}

}  // namespace tutti::daemon
