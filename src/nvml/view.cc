#include "nvml/view.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "client/base/environment.h"
#include "control/daemon_connection.h"
#include "control/limits.h"
#include "control/trust.h"
#include "ipc/client_connection.h"
#include "nvml/private_devices.h"
#include "os/socket.h"
#include "wire/limits.h"

namespace tutti::nvml {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMostBytes = 1ull << 56;
constexpr uint32_t kMostSms = 1u << 20;

const Json& Member(const Json& object, const char* name) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

uint64_t Number(const Json& object, const char* name, uint64_t most) {
  const Json& value = Member(object, name);
  return value.is_number_unsigned() ? std::min(value.get<uint64_t>(), most) : 0;
}

// Printable, and no longer than what a caller's buffer holds.
std::string Text(const Json& object, const char* name, size_t most) {
  const Json& value = Member(object, name);
  std::string text = value.is_string() ? value.get<std::string>().substr(0, most) : "";
  std::ranges::replace_if(text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

Device ReadDevice(const Json& json) {
  Device device{.uuid = Text(json, "uuid", 79),
                .name = Text(json, "name", 95),
                .total_bytes = Number(json, "total_bytes", kMostBytes),
                .sm_count = static_cast<uint32_t>(Number(json, "sm_count", kMostSms))};
  if (Member(json, "limit_bytes").is_number_unsigned())
    device.total_bytes = std::min(device.total_bytes, Number(json, "limit_bytes", kMostBytes));
  const Json& percentage = Member(json, "active_thread_percentage");
  if (percentage.is_number()) device.percentage = std::clamp(percentage.get<double>(), 0.0, 100.0);
  std::sscanf(Text(json, "compute_capability", 8).c_str(), "%3u.%3u", &device.compute_major, &device.compute_minor);
  std::sscanf(Text(json, "pci", 16).c_str(), "%8x:%2x:%2x", &device.pci_domain, &device.pci_bus, &device.pci_device);
  const uint64_t mode = Number(json, "compute_mode", 3);
  if (mode == 2 || mode == 3) device.compute_mode = static_cast<control::ComputeMode>(mode);
  return device;
}

uint64_t NowUs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

// As a word of a command, which blanks would end.
std::string WithoutBlanks(std::string text) {
  std::erase_if(text, [](char c) { return c <= ' ' || c == '"' || c == '\''; });
  return text;
}

// The question with what this process's environment asks for, where that can be read; the client library complains
// about the rest.
std::string Question() {
  std::string line = "device_share";
  const std::string threads = WithoutBlanks(client::Environment("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"));
  if (!threads.empty() && control::ParsePercentage(threads)) line += " threads=" + threads;
  const std::string memory = WithoutBlanks(client::Environment("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"));
  if (!memory.empty() && control::MemoryLimits::Parse(memory)) line += " memory=" + memory;
  return line;
}

uint64_t OwnPidNamespace() {
  struct stat space{};
  return stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
}

// Anyone may listen in a directory that the environment names. The library believes only root's daemon, the user's own,
// or a trusted user's, as libcuda.so.1 does.
Status CheckListener(const control::DaemonConnection& daemon, const control::Places& places) {
  const uid_t uid = daemon.daemon_uid();
  if (control::ProgramsTrust(uid, client::Environment(ipc::kTrustVariable))) return {};
  return Fail(
      fmt::format("{} belongs to user {}, who is neither root nor you: set CUDA_MPS_PIPE_DIRECTORY to the "
                  "directory of another daemon, or, if you trust that user, {}={}",
                  places.control_socket(), uid, ipc::kTrustVariable, uid));
}

// No socket, or one that a killed daemon left. In every other case there is a daemon that does not answer.
bool NobodyListens(const control::Places& places, int patience_ms) {
  errno = 0;
  return !os::Connect(places.control_socket(), patience_ms) && (errno == ECONNREFUSED || errno == ENOENT);
}

// A program with more rights than its caller ignores the caller's directory.
control::Places OurPlaces() {
  if (client::EnvironmentIsTrusted()) return control::PlacesFromEnvironment();
  return {.pipe_directory = control::kDefaultPipeDirectory, .log_directory = control::kDefaultLogDirectory};
}

// Milliseconds until then, for what takes no timeout of 0.
int Left(uint64_t deadline_ns) {
  const uint64_t now_ns = NowNs();
  return deadline_ns > now_ns ? static_cast<int>((deadline_ns - now_ns) / 1'000'000) + 1 : 1;
}

Result<View> AskDaemon(control::DaemonConnection& daemon, uint64_t deadline_ns) {
  daemon.set_patience_ms(Left(deadline_ns));
  TUTTI_ASSIGN(const control::Answer shares, daemon.Run(Question()));
  daemon.set_patience_ms(Left(deadline_ns));
  if (shares.exit_status != 0) return Fail(shares.text.substr(0, 200));
  TUTTI_ASSIGN(View view, ReadShares(shares.text));
  TUTTI_ASSIGN(const control::Report report, control::FetchReport(daemon));
  const bool same = daemon.daemon_pid() > 0 && static_cast<uint32_t>(daemon.daemon_pid()) == report.daemon_pid;
  AddProcesses(report, {.pid_namespace = OwnPidNamespace(), .in_daemons_namespace = same}, view);
  view.shared = true;
  return view;
}

}  // namespace

uint32_t Device::given_sms() const {
  return std::clamp<uint32_t>(static_cast<uint32_t>(std::floor(sm_count * percentage / 100)), 1,
                              std::max<uint32_t>(sm_count, 1));
}

std::string Device::BusId() const { return fmt::format("{:08X}:{:02X}:{:02X}.0", pci_domain, pci_bus, pci_device); }

uint64_t View::used_bytes(uint32_t device) const {
  uint64_t used = 0;
  for (const Process& process : processes) {
    if (process.device == device) used += std::min(process.used_bytes, kMostBytes);
  }
  return std::min(used, devices[device].total_bytes);
}

double View::busy(uint32_t device) const {
  double share = 0;
  for (const Process& process : processes) {
    if (process.device == device) share += process.share;
  }
  const double given = devices[device].percentage / 100;
  return given > 0 ? std::clamp(share / given, 0.0, 1.0) : 0;
}

Result<View> ReadShares(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const Json& devices = Member(json, "devices");
  if (!devices.is_array()) return Fail("the daemon does not know `device_share`: it is of another version");
  View view{.taken_us = NowUs()};
  const Json& administrator = Member(json, "administrator");
  view.administrator = administrator.is_boolean() && administrator.get<bool>();
  for (const Json& device : devices) {
    if (view.devices.size() == wire::kMaxDevices) break;
    view.devices.push_back(ReadDevice(device));
  }
  return view;
}

void AddProcesses(const control::Report& report, const Asker& asker, View& view) {
  // A process may have several connections to one device, and clients of several servers.
  std::map<std::pair<uint32_t, uint32_t>, Process> processes;  // by device and process id
  for (const control::ServerReport& server : report.servers) {
    for (const control::ClientReport& client : server.clients) {
      const auto device = std::ranges::find(view.devices, client.device_uuid, &Device::uuid);
      if (device == view.devices.end()) continue;
      uint32_t pid = asker.in_daemons_namespace ? client.pid : 0;
      if (client.pid_namespace == asker.pid_namespace && client.inner_pid != 0) pid = client.inner_pid;
      if (pid == 0) continue;
      const auto index = static_cast<uint32_t>(device - view.devices.begin());
      Process& process = processes.try_emplace({index, pid}, Process{.pid = pid, .device = index}).first->second;
      process.used_bytes += std::min(client.used_bytes, kMostBytes);
      if (std::isfinite(client.share)) process.share += std::clamp(client.share, 0.0, 1.0);
    }
  }
  for (const auto& [key, process] : processes) view.processes.push_back(process);
}

Result<View> Look(int patience_ms) {
  const uint64_t deadline_ns = NowNs() + static_cast<uint64_t>(patience_ms) * 1'000'000;
  const control::Places places = OurPlaces();
  auto daemon = control::DaemonConnection::Open(places, patience_ms);
  if (daemon) {
    TUTTI_TRY(CheckListener(*daemon, places));
    return AskDaemon(*daemon, deadline_ns);
  }
  if (!NobodyListens(places, Left(deadline_ns))) return std::unexpected(std::move(daemon).error());
  TUTTI_ASSIGN(std::vector<Device> devices, PrivateDevices());
  const auto modes = control::ComputeModes::Load();
  for (Device& device : devices) device.compute_mode = modes.Of(device.uuid);
  return View{.devices = std::move(devices), .administrator = true, .taken_us = NowUs()};
}

}  // namespace tutti::nvml
