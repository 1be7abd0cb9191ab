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
  std::string control_program;  // empty: beside this program
  std::string runtime_socket;   // of the container runtime, for the names and annotations of pods; may not exist
  std::string pod_resources_socket;
  std::string api_server;         // URL; empty: as a pod is told it
  std::string account_directory;  // of the service account
  std::string node_name;
  std::string proc_directory;   // where the processes of the pods are seen
  double daemon_timeout_s = 5;  // for the control daemon's answer to one command
  double kubelet_timeout_s = 10;
  bool run_daemon = false;      // --run-daemon: be the control daemon that the configuration asks for
  bool check_only = false;      // --check: read the configuration, say what it means, and end
  // As given; empty where the file decides.
  std::optional<std::string> mig_strategy, mps_root, device_id_strategy, allocation_policy, cdi_annotation_prefix,
      metrics_address, feature_file;
  std::vector<std::string> list_strategies;
  std::optional<bool> fail_on_init_error, pass_device_specs, gdrcopy_enabled, gds_enabled, mofed_enabled, node_api;
};

// The value, or the exit status that --help (0) or wrong usage (2) ends with; the text has been printed.
std::expected<Options, int> ParseOptions(int argc, char** argv);

// The control daemon's program: as given, or beside this one.
std::string ControlProgram(const Options& options);

// The configuration file, if there is one, with the options over it, checked.
Result<sharing::Config> LoadConfig(const Options& options);

}  // namespace tutti::kubernetes
