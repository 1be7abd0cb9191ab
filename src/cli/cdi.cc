// tutti cdi generate: describes the running daemon's devices for container tools that support CDI.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "cli/installation.h"
#include "cli/report.h"
#include "cli/subcommands.h"
#include "cli/values.h"
#include "sharing/cdi_spec.h"
#include "sharing/document.h"
#include "sharing/gpu_config.h"
#include "sharing/quantity.h"

namespace tutti::cli {
namespace {

struct CdiCommand {
  std::string output = "-";
  std::string kind = "nvidia.com/gpu";
  std::string pipe_directory_in_container = "/tmp/nvidia-mps";
  std::string gpu_config;
  std::optional<int> percentage;
  std::string memory;
  bool library = true;
};

std::vector<sharing::DeviceFacts> DevicesOf(const Report& report) {
  for (const ServerReport& server : report.servers) {
    std::vector<sharing::DeviceFacts> devices;
    for (const DeviceReport& device : server.devices)
      devices.push_back({device.uuid, device.name, device.total_bytes, device.sm_count, device.compute_capability});
    if (!devices.empty()) return devices;
  }
  return {};
}

// Only a server knows the devices; the first one may still have to start.
Result<std::pair<Report, std::vector<sharing::DeviceFacts>>> WaitForDevices(control::DaemonConnection& daemon) {
  for (int tries = 0;; ++tries) {
    TUTTI_ASSIGN(Report report, FetchReport(daemon));
    std::vector<sharing::DeviceFacts> devices = DevicesOf(report);
    if (!devices.empty()) return std::pair(std::move(report), std::move(devices));
    if (tries == 0) TUTTI_TRY(daemon.Run(fmt::format("start_server -uid {}", geteuid())));
    if (tries == 100) return Fail("the daemon has no devices: see tutti status and its server.log");
    usleep(50'000);
  }
}

// A claim's configuration goes to the daemon, whose defaults are the claim's limits.
Status ApplyGpuConfig(const std::string& path, control::DaemonConnection& daemon, const Report& report,
                      const std::vector<sharing::DeviceFacts>& devices) {
  TUTTI_ASSIGN(const std::string text, sharing::ReadFile(path));
  TUTTI_ASSIGN(const sharing::GpuConfig config, sharing::ReadGpuConfig(text, path));
  if (config.multi_user && report.multi_user == false) {
    return Fail(
        fmt::format("{} asks for multiUser, but the daemon (process {}) was started without -M: end it by `quit`, and "
                    "start it with -d -M",
                    path, report.daemon_pid));
  }
  std::vector<std::string> uuids;
  for (const auto& device : devices) uuids.push_back(device.uuid);
  TUTTI_ASSIGN(const std::vector<std::string> commands, sharing::GpuConfigCommands(config, uuids));
  for (const std::string& command : commands) {
    TUTTI_ASSIGN(const control::Answer answer, daemon.Run(command));
    if (answer.exit_status != 0) return Fail(fmt::format("the daemon refuses {}: {}", command, answer.text));
  }
  return {};
}

Status Write(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::fputs(text.c_str(), stdout);
    return {};
  }
  FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return FailErrno("cannot write " + path);
  const bool written = std::fputs(text.c_str(), file) >= 0;
  if (std::fclose(file) != 0 || !written) return FailErrno("cannot write " + path);
  return {};
}

Status Generate(const CdiCommand& command) {
  TUTTI_TRY(sharing::CheckCdiKind(command.kind));
  sharing::CdiOptions options{.kind = command.kind,
                              .host_pipe_directory = "",
                              .container_pipe_directory = command.pipe_directory_in_container,
                              .host_library_directory = "",
                              .percentage = command.percentage,
                              .memory_bytes = {}};
  if (!command.memory.empty()) {
    TUTTI_ASSIGN(options.memory_bytes, sharing::ParseBytes(command.memory));
  }
  if (command.library) {
    TUTTI_ASSIGN(options.host_library_directory, LibraryDirectory());
    const std::string smi = ToolsDirectory(options.host_library_directory) + "/nvidia-smi";
    if (access(smi.c_str(), X_OK) == 0) options.host_smi = smi;
  }
  TUTTI_ASSIGN(auto daemon, control::DaemonConnection::Open(control::PlacesFromEnvironment()));
  TUTTI_ASSIGN(const auto found, WaitForDevices(daemon));
  options.host_pipe_directory = found.first.pipe_directory;
  if (!command.gpu_config.empty()) TUTTI_TRY(ApplyGpuConfig(command.gpu_config, daemon, found.first, found.second));
  return Write(command.output, sharing::CdiSpec(options, found.second));
}

}  // namespace

void AddCdi(Command& tutti) {
  Command& cdi =
      tutti.AddCommand("cdi", "Container Device Interface: shared devices by name for podman, Docker and others");
  cdi.RequireCommand();
  Command& generate = cdi.AddCommand("generate", "Write a specification of the running daemon's devices");
  const auto command = std::make_shared<CdiCommand>();
  generate.AddOption("-o,--output", &command->output, "File, such as /etc/cdi/tutti.json; - is stdout");
  generate.AddOption("--kind", &command->kind, "Vendor and class of the devices (nvidia.com/gpu)");
  generate.AddOption("--container-pipe-directory", &command->pipe_directory_in_container,
                     "Where containers see the pipe directory");
  generate.AddOption("--threads", &command->percentage, "Active thread percentage of each container's processes")
      .Check(Between(1, 100));
  generate.AddOption("--memory", &command->memory, "Device memory of each container's processes, as in 2Gi");
  generate.AddOption("--gpu-config", &command->gpu_config,
                     "GpuConfig of NVIDIA's DRA driver: its limits become the daemon's defaults");
  generate.AddFlag("!--no-library", &command->library, "Leave libcuda.so.1 to the container");
  generate.Do([command] { return ExitStatus(Generate(*command)); });
}

}  // namespace tutti::cli
