#include "server/testing/server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/check.h"
#include "os/close_aside.h"
#include "os/filled_memory.h"
#include "os/socket.h"
#include "os/spawn.h"

namespace tutti::server::testing {
namespace {

constexpr int kTimeoutMs = 30'000;

template <typename Condition>
bool Eventually(Condition condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return condition();
}

size_t EntriesOf(const std::string& directory) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory)) ++count;
  return count;
}

}  // namespace

// Test programs are in <build>/test.
std::string ProgramOfThisBuild(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / name;
}

ServerProcess::ServerProcess(std::vector<std::string> more_arguments, int open_files) {
  auto sockets = os::SocketPair().value();
  const std::string server = ProgramOfThisBuild("bin/tutti-server");
  std::vector<std::string> arguments = {server, "--daemon-socket-fd", "3"};
  if (std::ranges::find(more_arguments, "--device") == more_arguments.end())
    arguments.insert(arguments.end(), {"--device", "null"});
  arguments.insert(arguments.end(), more_arguments.begin(), more_arguments.end());
  std::string program = server;
  if (open_files != 0) {
    program = "/bin/sh";
    const std::string script = "ulimit -n " + std::to_string(open_files) + "; exec \"$0\" \"$@\"";
    arguments.insert(arguments.begin(), {"sh", "-c", script});
  }
  const os::Fd null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  const bool loud = std::getenv("TUTTI_TEST_LOG") != nullptr;
  pid_ = os::Spawn({.path = program,
                    .arguments = arguments,
                    .files = {{STDIN_FILENO, 0},
                              {loud ? STDOUT_FILENO : null.get(), 1},
                              {loud ? STDERR_FILENO : null.get(), 2},
                              {sockets.second.get(), 3}}})
             .value();
  socket_ = std::move(sockets.first);
  const auto message = ipc::ReceiveMessage(socket_.get(), kTimeoutMs).value();
  ByteReader in(message.body);
  ready_ = wire::GetServerReady(in).value();
}

ServerProcess::~ServerProcess() {
  if (reaped_) return;
  socket_.Reset();
  if (AwaitExit() != -1) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::pair<os::Fd, os::Fd> ServerProcess::ConnectionPair() { return os::SocketPair().value(); }

void ServerProcess::PassOn(os::Fd connection, uint32_t pid, double percentage) {
  PassOn(std::move(connection), pid, wire::Attach{.active_thread_percentage = percentage});
}

void ServerProcess::PassOn(os::Fd connection, uint32_t pid, wire::Attach attach) {
  const auto message = ipc::ReceiveMessage(connection.get(), kTimeoutMs).value();
  ByteReader in(message.body);
  attach.hello = wire::GetHello(in).value();
  attach.pid = pid;
  if (attach.uid == 0) attach.uid = getuid();
  ByteWriter body;
  wire::Put(body, attach);
  const int fds[] = {connection.get()};
  TUTTI_CHECK(ipc::SendMessage(socket_.get(), wire::MessageKind::kAttach, 0, std::move(body), fds).has_value());
  os::CloseAside(std::move(connection));  // as the daemon does: it may be the last, after a refusal
}

Result<std::unique_ptr<ipc::ClientConnection>> ServerProcess::ConnectHere(uint32_t pid, double percentage) {
  return ConnectHere(pid, wire::Attach{.active_thread_percentage = percentage});
}

Result<std::unique_ptr<ipc::ClientConnection>> ServerProcess::ConnectHere(uint32_t pid, const wire::Attach& attach) {
  auto [mine, theirs] = ConnectionPair();
  std::thread daemon([&, theirs = std::move(theirs)]() mutable { PassOn(std::move(theirs), pid, attach); });
  auto connection =
      ipc::ClientConnection::Adopt(std::move(mine), {.claimed_pid = pid, .command_line = "in the test"}, kTimeoutMs);
  daemon.join();
  return connection;
}

wire::ServerReply ServerProcess::Ask(wire::MessageKind kind, ByteWriter body) {
  const uint32_t serial = next_serial_++;
  const os::Fd answer = os::CreateMemoryToFill("answer").value();
  const int fd = answer.get();
  TUTTI_CHECK(ipc::SendMessage(socket_.get(), kind, serial, std::move(body),
                               std::span(&fd, kind == wire::MessageKind::kServerQuery))
                  .has_value());
  auto message = ipc::ReceivePlainMessage(socket_.get(), kTimeoutMs).value();
  TUTTI_CHECK(message.head.kind == wire::MessageKind::kServerReply && message.head.serial == serial);
  if ((message.head.flags & wire::kBodyInAskersFile) != 0)
    message.body = os::ReadFilledMemory(fd, ipc::kMaxBodyBytes).value();
  ByteReader in(message.body);
  return wire::GetServerReply(in).value();
}

std::vector<wire::ClientStatus> ServerProcess::Clients() {
  ByteWriter body;
  wire::Put(body, wire::ServerQuery{.what = wire::QueryKind::kClients});
  return Ask(wire::MessageKind::kServerQuery, std::move(body)).clients;
}

bool ServerProcess::AwaitClientCount(size_t count) {
  return Eventually([&] { return Clients().size() == count; });
}

size_t ServerProcess::OpenFiles() const { return EntriesOf("/proc/" + std::to_string(pid_) + "/fd"); }
size_t ServerProcess::OpenFilesAtRest() const {
  size_t most = 0;
  for (int i = 0; i < 20; ++i) {
    most = std::max(most, OpenFiles());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return most;
}
size_t ServerProcess::FirstFreeFile() {
  const std::string files = "/proc/" + std::to_string(pid_) + "/fd/";
  size_t number = 0;
  for (int i = 0; i < 20; ++i) {
    Clients();  // whatever was closed since the last message, the reserve moves there
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (number = 0; std::filesystem::is_symlink(files + std::to_string(number));) ++number;
  }
  return number;
}
size_t ServerProcess::Threads() const { return EntriesOf("/proc/" + std::to_string(pid_) + "/task"); }

size_t ServerProcess::Mappings() const {
  std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:tutti-") != line.npos;
  return count;
}

namespace {

// The number in the line "`name`: <number> ..." of a status file of /proc.
size_t FromStatus(const std::string& path, const std::string& name) {
  std::ifstream status(path);
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoul(line.substr(name.size() + 1));
  }
  return 0;
}

}  // namespace

size_t ServerProcess::ResidentBytes() const {
  return FromStatus("/proc/" + std::to_string(pid_) + "/status", "VmRSS") * 1024;
}

size_t ServerProcess::Sleeps() const {
  size_t sum = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task")) {
    sum += FromStatus(task.path() / "status", "voluntary_ctxt_switches");
  }
  return sum;
}

int ServerProcess::AwaitExit() {
  int status = -1;
  if (!Eventually([&] { return waitpid(pid_, &status, WNOHANG) == pid_; })) return -1;
  reaped_ = true;
  return status;
}

pid_t StartClient(const os::Fd& connection, const std::string& mode, int rounds) {
  return os::Spawn({.path = ProgramOfThisBuild("test/server_test_client"),
                    .arguments = {"server_test_client", mode, std::to_string(rounds)},
                    .files = {{STDIN_FILENO, 0}, {STDOUT_FILENO, 1}, {STDERR_FILENO, 2}, {connection.get(), 3}}})
      .value();
}

int AwaitClient(pid_t pid) {
  int status = -1;
  waitpid(pid, &status, 0);
  return status;
}

}  // namespace tutti::server::testing
