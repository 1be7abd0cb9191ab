// The command line of tutti-device-plugin. Flags that NVIDIA's plugin has keep their names and environment variables;
// they win over the configuration file, the command line over the environment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "sharing/config.h"

namespace tutti::kubernetes {

struct Options {
  std::string config_file;
  std::string kubelet_directory;
  std::string control_program;  // empty: next to this program
  // Of the container runtime, for the names and annotations of pods; may not exist.
  std::string runtime_socket = "/run/containerd/containerd.sock";
  std::string pod_resources_socket = "/var/lib/kubelet/pod-resources/kubelet.sock";
  std::string api_server;         // URL; empty: from the pod's environment
  std::string account_directory;  // of the service account
  std::string node_name;
  std::string proc_directory = "/proc";  // where the pods' processes are visible
  double daemon_timeout_s = 5;           // timeout of the control daemon's answer to a command
  double kubelet_timeout_s = 10;
  bool run_daemon = false;  // --run-daemon: become the control daemon, as configured
  bool check_only = false;  // --check: read the configuration, print what it means, and exit
  // As given; empty: from the file.
  std::optional<std::string> mig_strategy, mps_root, device_id_strategy, allocation_policy, cdi_annotation_prefix,
      metrics_address, feature_file;
  std::vector<std::string> list_strategies;
  std::optional<bool> fail_on_init_error, pass_device_specs, gdrcopy_enabled, gds_enabled, mofed_enabled, node_api;
};

// The options, or the exit status of --help (0) or wrong usage (2), whose text has been printed.
std::expected<Options, int> ParseOptions(int argc, char** argv);

// The control daemon's program: as given, or next to this one.
std::string ControlProgram(const Options& options);

// The validated configuration: the file, if any, overridden by the options.
Result<sharing::Config> LoadConfig(const Options& options);

}  // namespace tutti::kubernetes
