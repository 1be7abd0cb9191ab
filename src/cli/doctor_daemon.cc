// Checks of the control daemon in CUDA_MPS_PIPE_DIRECTORY and of its servers. A missing daemon is no problem, since
// every program then has a private server; a daemon in another directory is.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/clock.h"
#include "cli/doctor_checks.h"
#include "cli/format.h"
#include "cli/report.h"
#include "control/command_message.h"
#include "control/compute_mode.h"
#include "control/daemon_connection.h"
#include "control/trust.h"
#include "ipc/client_connection.h"
#include "os/program.h"

namespace tutti::cli {
namespace {

constexpr uint64_t kServerPatienceNs = 10'000'000'000;
constexpr int kAnswerPatienceMs = 2000;

// The first component of `path` that this user cannot traverse; empty if there is none.
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
  return report.servers.empty() ? nullptr : &report.servers.front();  // shared by all users, in multi-user mode
}

Finding Answering(const Report& report, const ServerReport& server) {
  if (!control::ProgramsTrust(report.daemon_uid, os::Environment(ipc::kTrustVariable))) {
    return {
        Finding::Kind::kProblem,
        fmt::format("the daemon would serve you, but belongs to {}: your programs talk to root's daemon and to your "
                    "own",
                    UserName(report.daemon_uid)),
        fmt::format("if you trust that user with what they compute: export {}={}", ipc::kTrustVariable,
                    report.daemon_uid)};
  }
  std::string devices;
  for (const DeviceReport& device : server.devices) {
    devices += fmt::format(", device {}: {} with {} SMs", device.ordinal, device.name, device.sm_count);
    if (!device.capabilities.empty()) devices += fmt::format(" ({})", fmt::join(device.capabilities, ", "));
  }
  return {.text = fmt::format("server {} of user {} is ready{} (policy {})", server.pid, UserName(server.uid), devices,
                              report.policy)};
}

// Pipe directories of daemons that this user may use, from the kernel's list of sockets.
std::vector<std::string> DirectoriesOfDaemons() {
  constexpr std::string_view kSocket = "/control_privileged";
  std::vector<std::string> directories;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    if (!line.ends_with(kSocket)) continue;
    const std::string directory = line.substr(line.find('/'), line.size() - line.find('/') - kSocket.size());
    if (access((directory + "/control").c_str(), W_OK) == 0) directories.push_back(directory);
  }
  return directories;
}

// The finding when nobody answers in `directory`.
Finding NoDaemon(const Patient& patient, const std::string& directory) {
  constexpr size_t kMostNamed = 4;
  const auto kind = patient.needs_service ? Finding::Kind::kProblem : Finding::Kind::kNote;
  auto others = DirectoriesOfDaemons();
  std::erase(others, directory);
  if (others.size() > kMostNamed) others.resize(kMostNamed);
  if (!others.empty()) {
    return {kind,
            fmt::format("no control daemon answers in {}, but one listens in {}", directory,
                        fmt::join(others, ", another in ")),
            "export CUDA_MPS_PIPE_DIRECTORY=" + others.front() + (others.size() > 1 ? ", or another of these" : "")};
  }
  return {kind, fmt::format("no control daemon answers in {}: each program gets a private server", directory),
          "to share the device: tutti-control -d"};
}

// Whether the listener speaks our protocol; with a timeout, since it may be anything.
bool AskWhetherItAnswers() {
  const auto places = control::PlacesFromEnvironment();
  const auto socket = os::Connect(places.control_socket());
  if (!socket || !os::Send(socket->get(), control::PackCommand(1, "get_default_active_thread_percentage")))
    return false;
  const auto answer = os::Receive(socket->get(), kAnswerPatienceMs);
  return answer && control::ReadCommandReply(answer->bytes);
}

// The same, asked once.
bool AnswersCommands() {
  static const bool answers = AskWhetherItAnswers();
  return answers;
}

// The daemon's refusal to start a server, and the remedy.
Finding NoServer(control::DaemonConnection& daemon, const std::string& why) {
  const auto report = FetchReport(daemon);
  if (report && report->daemon_uid != 0 && report->daemon_uid != geteuid()) {
    return {Finding::Kind::kProblem,
            fmt::format("wrong user: the daemon runs as {} and serves that user only; you are {}",
                        UserName(report->daemon_uid), UserName(geteuid())),
            fmt::format("have root start the daemon, or start it with -M, or a daemon of your own: "
                        "CUDA_MPS_PIPE_DIRECTORY=/tmp/mps-{} tutti-control -d",
                        geteuid())};
  }
  return {Finding::Kind::kProblem, "the daemon starts no server: " + why, "start the daemon as root, or as this user"};
}

}  // namespace

Finding CheckPipeDirectory(const Patient&) {
  const std::string path = control::PlacesFromEnvironment().pipe_directory;
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT)
      return {Finding::Kind::kNote, "no pipe directory " + path,
              "tutti-control -d makes it, or set CUDA_MPS_PIPE_DIRECTORY"};
    const std::string why = std::strerror(errno);
    const std::string barrier = Barrier(path);
    return {Finding::Kind::kProblem, fmt::format("{}: {}", path, why),
            "chmod a+x " + (barrier.empty() ? path : barrier)};
  }
  if (!S_ISDIR(info.st_mode))
    return {Finding::Kind::kProblem, path + " is not a directory",
            "remove it, or set CUDA_MPS_PIPE_DIRECTORY to another path"};
  if (const std::string barrier = Barrier(path); !barrier.empty()) {
    return {Finding::Kind::kProblem, fmt::format("user {} cannot pass through {}", UserName(geteuid()), barrier),
            "chmod a+x " + barrier};
  }
  const std::string socket = path + "/control";
  if (access(socket.c_str(), F_OK) == 0 && access(socket.c_str(), W_OK) != 0) {
    return {Finding::Kind::kProblem, fmt::format("user {} may not use {}", UserName(geteuid()), socket),
            "chmod a+w " + socket};
  }
  return {.text = "pipe directory is " + path};
}

Finding CheckDaemon(const Patient& patient) {
  const control::Places places = control::PlacesFromEnvironment();
  const auto daemon = control::DaemonConnection::Open(places);
  if (!daemon) return NoDaemon(patient, places.pipe_directory);
  if (!AnswersCommands()) {
    return {Finding::Kind::kProblem,
            fmt::format("what listens in {} (process {}) does not speak our protocol: it is NVIDIA's daemon, or a "
                        "Tutti of another version",
                        places.pipe_directory, daemon->daemon_pid()),
            "end it with its own program (echo quit | nvidia-cuda-mps-control), then: tutti-control -d"};
  }
  return {.text = fmt::format("control daemon answers (process {})", daemon->daemon_pid())};
}

Finding CheckServer(const Patient&) {
  const control::Places places = control::PlacesFromEnvironment();
  auto daemon = control::DaemonConnection::Open(places);
  if (!daemon || !AnswersCommands()) return {.text = "server: nothing to check without a daemon"};
  const auto started = daemon->Run(fmt::format("start_server -uid {}", geteuid()));
  if (!started) return {Finding::Kind::kProblem, started.error().text, "see control.log"};
  if (!started->text.empty()) return NoServer(*daemon, started->text.substr(0, started->text.find('\n')));
  std::string log = "server.log";
  for (const uint64_t deadline = NowNs() + kServerPatienceNs; NowNs() < deadline; usleep(20'000)) {
    const auto report = FetchReport(*daemon);
    if (!report)
      return {Finding::Kind::kProblem, report.error().text, "install the same version of tutti and tutti-control"};
    log = report->log_directory + "/server.log";
    const ServerReport* const server = OwnServer(*report);
    if (server == nullptr) break;
    if (server->state == "ACTIVE") return Answering(*report, *server);
  }
  return {Finding::Kind::kProblem, "the server does not become ready", "see " + log};
}

Finding CheckComputeMode(const Patient&) {
  const bool daemon = AnswersCommands();
  const auto modes = control::ComputeModes::Load();
  for (const auto& [uuid, mode] : modes.all()) {
    if (mode == control::ComputeMode::kProhibited) {
      return {Finding::Kind::kProblem,
              fmt::format("device {} is in compute mode PROHIBITED: no program can use it", uuid),
              fmt::format("as root: tutti device mode {} DEFAULT", uuid)};
    }
    if (mode == control::ComputeMode::kExclusiveProcess && !daemon) {
      return {Finding::Kind::kProblem,
              fmt::format("device {} is in compute mode EXCLUSIVE_PROCESS: only programs of the daemon can use it, and "
                          "none answers",
                          uuid),
              "tutti-control -d, or set CUDA_MPS_PIPE_DIRECTORY to the directory of the one that runs"};
    }
  }
  return {.text = "compute mode lets programs use the devices"};
}

}  // namespace tutti::cli
