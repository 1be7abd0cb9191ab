// Checks of the control daemon in CUDA_MPS_PIPE_DIRECTORY and of its servers. No daemon is no problem: then every program
// has a private server.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "cli/doctor_checks.h"
#include "cli/format.h"
#include "cli/report.h"
#include "control/daemon_connection.h"

namespace tutti::cli {
namespace {

constexpr uint64_t kServerPatienceNs = 10'000'000'000;

// The first directory on the way to `path` that this user cannot pass through; empty if there is none.
std::string Barrier(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string directory = path.substr(0, slash);
    if (access(directory.c_str(), X_OK) != 0) return directory;
  }
  return access(path.c_str(), X_OK) != 0 ? path : "";
}

const ServerReport* OwnServer(const Report& report) {
  for (const ServerReport& server : report.servers) {
    if (server.uid == geteuid()) return &server;
  }
  return report.servers.empty() ? nullptr : &report.servers.front();  // of everybody, in multi-user mode
}

Finding Answering(const Report& report, const ServerReport& server) {
  std::string devices;
  for (const DeviceReport& device : server.devices) {
    devices += fmt::format(", device {}: {} with {} SMs", device.ordinal, device.name, device.sm_count);
  }
  return {.text = fmt::format("server {} of user {} is ready{} (policy {})", server.pid, UserName(server.uid), devices, report.policy)};
}

}  // namespace

Finding CheckPipeDirectory() {
  const std::string path = control::PlacesFromEnvironment().pipe_directory;
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return {Finding::Kind::kNote, "no pipe directory " + path, "tutti-control -d makes it, or set CUDA_MPS_PIPE_DIRECTORY"};
    return {Finding::Kind::kProblem, fmt::format("{}: {}", path, std::strerror(errno)), "open the directories above it to this user (mode x)"};
  }
  if (!S_ISDIR(info.st_mode)) return {Finding::Kind::kProblem, path + " is not a directory", "remove it, or set CUDA_MPS_PIPE_DIRECTORY to another path"};
  if (const std::string barrier = Barrier(path); !barrier.empty()) {
    return {Finding::Kind::kProblem, fmt::format("user {} cannot pass through {}", UserName(geteuid()), barrier), "chmod a+x " + barrier};
  }
  return {.text = "pipe directory is " + path};
}

Finding CheckDaemon() {
  const auto daemon = control::DaemonConnection::Open(control::PlacesFromEnvironment());
  if (!daemon) {
    return {Finding::Kind::kNote, "no control daemon answers: each program gets a private server", "to share the device: tutti-control -d"};
  }
  return {.text = fmt::format("control daemon answers (process {})", daemon->daemon_pid())};
}

Finding CheckServer() {
  auto daemon = control::DaemonConnection::Open(control::PlacesFromEnvironment());
  if (!daemon) return {.text = "server: nothing to check without a daemon"};
  const auto started = daemon->Run(fmt::format("start_server -uid {}", geteuid()));
  if (!started || !started->text.empty()) {
    return {Finding::Kind::kProblem, "the daemon starts no server: " + (started ? started->text.substr(0, started->text.find('\n')) : started.error().text),
            "start the daemon as root, or as this user"};
  }
  std::string log = "server.log";
  for (const uint64_t deadline = NowNs() + kServerPatienceNs; NowNs() < deadline; usleep(20'000)) {
    const auto report = FetchReport(*daemon);
    if (!report) return {Finding::Kind::kProblem, report.error().text, "install the same version of tutti and tutti-control"};
    log = report->log_directory + "/server.log";
    const ServerReport* const server = OwnServer(*report);
    if (server == nullptr) break;
    if (server->state == "ACTIVE") return Answering(*report, *server);
  }
  return {Finding::Kind::kProblem, "the server does not become ready", "see " + log};
}

}  // namespace tutti::cli
