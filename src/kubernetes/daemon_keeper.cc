#include "kubernetes/daemon_keeper.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "control/limits.h"
#include "os/pidfd.h"
#include "os/spawn.h"
#include "sharing/offer.h"

namespace tutti::kubernetes {
namespace {

constexpr int kLookEvery_ms = 1000;

// The defaults: the size of the largest replica, since a container's own limits may be lower than the default but not
// higher.
struct Defaults {
  double percentage = 100;
  std::vector<std::optional<uint64_t>> memory;  // by device
};

Defaults DefaultsOf(const sharing::Config& config, const std::vector<sharing::DeviceFacts>& devices) {
  Defaults defaults{.percentage = 100, .memory = std::vector<std::optional<uint64_t>>(devices.size())};
  const auto offers = sharing::MakeOffers(config, devices);
  if (!offers || config.strategy != sharing::Strategy::kMps) return defaults;
  // Several replicas, or an annotation, may add up to a whole device.
  if (config.extension.annotations || !config.replication.fail_requests_greater_than_one) return defaults;
  double largest = 0;
  for (const sharing::Offer& offer : *offers) {
    for (size_t i = 0; i < devices.size(); ++i) {
      largest = std::max(largest, offer.portions[i].percentage.value_or(100));
      const uint64_t memory = offer.portions[i].memory_bytes.value_or(devices[i].total_bytes);
      defaults.memory[i] = std::max(defaults.memory[i].value_or(0), memory);
    }
  }
  for (size_t i = 0; i < devices.size(); ++i) {
    if (defaults.memory[i] == devices[i].total_bytes) defaults.memory[i].reset();
  }
  defaults.percentage = largest > 0 ? largest : 100;
  return defaults;
}

// Settings that apply at a daemon's start only; an adopted daemon may have others.
void WarnOfItsStart(const sharing::Config& config, const control::Report& report) {
  const bool wanted = config.extension.multi_user_server;
  if (!report.multi_user || *report.multi_user == wanted) return;
  log::Warning(
      "tutti.multiUserServer is {}, but the control daemon that runs (process {}) was started {} -M, and goes on so "
      "since pods may be using it. "
      "`echo quit | CUDA_MPS_PIPE_DIRECTORY={} nvidia-cuda-mps-control` ends it with its last client, and the next one "
      "is started as configured",
      wanted, report.daemon_pid, wanted ? "without" : "with", report.pipe_directory);
}

}  // namespace

std::vector<sharing::DeviceFacts> DevicesOf(const control::Report& report, uint32_t uid) {
  std::vector<sharing::DeviceFacts> devices;
  for (const control::ServerReport& server : report.servers) {
    if (server.uid != uid || !server.error.empty()) continue;
    for (const control::DeviceReport& device : server.devices) {
      devices.push_back({device.uuid, device.name, device.total_bytes, device.sm_count, device.compute_capability});
    }
    if (!devices.empty()) break;
  }
  return devices;
}

std::vector<std::string> DefaultCommands(const sharing::Config& config, const control::Report& report) {
  const std::vector<sharing::DeviceFacts> devices = DevicesOf(report, geteuid());
  const Defaults defaults = DefaultsOf(config, devices);
  std::vector<std::string> commands;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (!defaults.memory[i]) continue;
    const std::string limit = fmt::format("{} {}M", i, *defaults.memory[i] >> 20);
    commands.push_back("set_default_device_pinned_mem_limit " + limit);
    for (const auto& server : report.servers)
      commands.push_back(fmt::format("set_device_pinned_mem_limit {} {}", server.pid, limit));
  }
  commands.push_back(fmt::format("set_default_active_thread_percentage {:g}", defaults.percentage));
  for (const auto& server : report.servers)
    commands.push_back(fmt::format("set_active_thread_percentage {} {:g}", server.pid, defaults.percentage));
  commands.push_back(config.strategy == sharing::Strategy::kTimeSlicing ? "set_policy time_slice" : "set_policy share");
  if (config.extension.limit_per_container) commands.push_back("set_limit_scope container");
  return commands;
}

DaemonKeeper::DaemonKeeper(control::Places places, std::string program, int patience_ms, DeviceTable& table,
                           ClaimBook& claims)
    : places_(std::move(places)),
      program_(std::move(program)),
      patience_ms_(patience_ms),
      table_(table),
      claims_(claims),
      stop_(eventfd(0, EFD_CLOEXEC)) {}

DaemonKeeper::~DaemonKeeper() {
  (void)eventfd_write(stop_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

void DaemonKeeper::Configure(sharing::Config config) {
  const std::lock_guard lock(mutex_);
  config_ = std::move(config);
  told_ = false;
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
}

void DaemonKeeper::AfterEachLook(Look look) {
  const std::lock_guard lock(mutex_);
  after_look_ = std::move(look);
}

std::optional<control::Report> DaemonKeeper::LastReport() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

std::string DaemonKeeper::Trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

bool DaemonKeeper::Wait(int process, int milliseconds) {
  pollfd waits[] = {{stop_.get(), POLLIN, 0}, {process, POLLIN, 0}};
  return poll(waits, process < 0 ? 1 : 2, milliseconds) > 0;
}

// Runs one daemon after the other, with back-off after each that fails to start.
void DaemonKeeper::Run() {
  int pause_ms = 100;
  while (!Wait(-1, 0)) {
    const auto begin = std::chrono::steady_clock::now();
    const Status status = KeepOne();
    if (status) return;  // asked to stop
    NoteTrouble(status.error().text);
    const bool lived = std::chrono::steady_clock::now() - begin > std::chrono::seconds(10);
    pause_ms = lived ? 100 : std::min(pause_ms * 2, MayStart() ? 10'000 : kLookEvery_ms);
    if (Wait(-1, pause_ms)) return;
  }
}

void DaemonKeeper::NoteTrouble(const std::string& why) {
  table_.MarkAllSick(why);
  const std::lock_guard lock(mutex_);
  if (trouble_ != why) log::Error("{}", why);
  report_.reset();
  told_ = false;
  trouble_ = why;
}

bool DaemonKeeper::MayStart() const {
  const std::lock_guard lock(mutex_);
  return config_.extension.start_daemon;
}

Status DaemonKeeper::StartDaemon() {
  log::Info("starting {} -d in {}", program_, places_.pipe_directory);
  std::vector<std::string> arguments = {"nvidia-cuda-mps-control", "-d"};
  // The first one has the settings of our configuration alone, not of a container before this one.
  if (daemons_ == 0) arguments.push_back("--fresh");
  {
    const std::lock_guard lock(mutex_);
    if (config_.extension.multi_user_server) arguments.push_back("-M");
  }
  TUTTI_ASSIGN(const pid_t pid, os::Spawn({program_, arguments, {{0, 0}, {2, 1}, {2, 2}}}));
  int status = 0;
  for (int waited_ms = 0; waitpid(pid, &status, WNOHANG) == 0; waited_ms += 20) {
    if (Wait(-1, 20) || waited_ms > 30'000) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return Fail("error waiting for MPS daemon: it was not ready within 30 s");
    }
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Fail(
        fmt::format("error waiting for MPS daemon: error checking MPS daemon health: failed to send command to MPS "
                    "daemon: exit status {}; see {}",
                    WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), places_.control_log()));
  }
  return {};
}

Result<control::Report> DaemonKeeper::TakeReport(control::DaemonConnection& daemon) {
  TUTTI_ASSIGN(control::Report report, control::FetchReport(daemon));
  if (DevicesOf(report, geteuid()).empty()) {
    // Only a server knows the devices; ours has not started yet, or has ended.
    TUTTI_TRY(daemon.Run(fmt::format("start_server -uid {}", geteuid())));
  }
  return report;
}

Status DaemonKeeper::Tell(control::DaemonConnection& daemon, const control::Report& report) {
  sharing::Config config;
  {
    const std::lock_guard lock(mutex_);
    config = config_;
    told_ = true;
  }
  WarnOfItsStart(config, report);
  for (const std::string& command : DefaultCommands(config, report)) {
    TUTTI_ASSIGN(const control::Answer answer, daemon.Run(command));
    if (answer.exit_status != 0) return Fail(fmt::format("the control daemon refuses {}: {}", command, answer.text));
    log::Info("{}: {}", command, answer.text.empty() ? "done" : answer.text.substr(0, answer.text.find('\n')));
  }
  return claims_.Tell(daemon, config.extension.require_claims);
}

// One poll: sends the daemon pending settings and publishes its devices. Returns the milliseconds to the next poll.
Result<int> DaemonKeeper::LookAt(control::DaemonConnection& daemon) {
  TUTTI_ASSIGN(control::Report report, TakeReport(daemon));
  const std::vector<sharing::DeviceFacts> devices = DevicesOf(report, geteuid());
  bool told;
  Look after_look;
  {
    const std::lock_guard lock(mutex_);
    told = told_;
    after_look = after_look_;
  }
  if (!devices.empty() && !told) TUTTI_TRY(Tell(daemon, report));
  if (after_look) after_look(daemon, report);
  if (!devices.empty()) deviceless_looks_ = 0;
  if (!devices.empty() || ++deviceless_looks_ > 20) table_.Publish(devices);
  const std::lock_guard lock(mutex_);
  report_ = std::move(report);
  trouble_ = devices.empty() ? "the server has no devices yet" : "";
  return devices.empty() ? 50 : kLookEvery_ms;
}

// Returns without an error only when the keeper is to stop. Waits for a hung daemon, with its devices unhealthy, since
// killing it would end the clients of running pods, which may not be affected by the hang.
Status DaemonKeeper::KeepOne() {
  auto daemon = control::DaemonConnection::Open(places_, patience_ms_);
  if (daemon) {
    log::Info("a control daemon runs in {}: taking it over", places_.pipe_directory);
  } else if (!MayStart()) {
    return Fail(fmt::format("no control daemon answers in {}; tutti.startDaemon is false: waiting for one",
                            places_.pipe_directory));
  } else {
    TUTTI_TRY(StartDaemon());
    TUTTI_ASSIGN(control::DaemonConnection fresh, control::DaemonConnection::Open(places_, patience_ms_));
    daemon = std::move(fresh);
  }
  deviceless_looks_ = 0;
  // A daemon in a foreign PID namespace has no process to watch: polling the connection shows its end.
  const pid_t pid = daemon->daemon_pid();
  if (daemons_ == 0 || pid != last_daemon_) ++daemons_;
  last_daemon_ = pid;
  auto process = pid > 0 ? os::OpenPidfd(pid) : Result<os::Fd>(os::Fd());
  const int process_fd = process ? process->get() : -1;
  for (;;) {
    const auto pause_ms = LookAt(*daemon);
    if (!pause_ms) {
      // A dying daemon's connection closes slightly before its process is gone.
      if (process_fd >= 0 && !Wait(process_fd, 50)) {
        NoteTrouble(pause_ms.error().text);
        if (!Wait(process_fd, kLookEvery_ms)) {
          if (auto again = control::DaemonConnection::Open(places_, patience_ms_)) daemon = std::move(again);
          continue;
        }
      } else if (process_fd < 0) {
        return Fail("the control daemon has ended: " + pause_ms.error().text);
      }
    } else if (!Wait(process_fd, *pause_ms)) {
      continue;
    }
    return Wait(-1, 0) ? Status{} : Fail(fmt::format("the control daemon (process {}) has ended", pid));
  }
}

}  // namespace tutti::kubernetes
