#include "kubernetes/options.h"

#include <CLI/CLI.hpp>

#include "kubernetes/api_server.h"
#include "kubernetes/kubelet.h"
#include "os/program.h"
#include "sharing/document.h"

namespace tutti::kubernetes {

std::expected<Options, int> ParseOptions(int argc, char** argv) {
  Options options;
  CLI::App app("Kubernetes device plugin of Tutti: shares each device between containers through the control daemon.",
               "tutti-device-plugin");
  app.set_version_flag("--version", "tutti-device-plugin " TUTTI_VERSION);
  app.get_formatter()->column_width(40);
  app.add_option("--config-file", options.config_file, "NVIDIA's configuration file, or a Cast AI node template")
      ->envname("CONFIG_FILE");
  app.add_flag("--check", options.check_only, "Check the configuration and print what it offers; needs no kubelet");
  app.add_flag("--run-daemon", options.run_daemon,
               "Run the configured control daemon in the foreground, in a pod of its own "
               "(tutti.startDaemon: false)");
  app.add_option("--kubelet-directory", options.kubelet_directory, "The kubelet's device plugin directory")
      ->envname("KUBELET_DEVICE_PLUGIN_DIRECTORY")
      ->default_val(kDefaultKubeletDirectory);
  app.add_option("--kubelet-timeout", options.kubelet_timeout_s,
                 "Timeout in seconds for the kubelet's answers, after which the plugin registers again")
      ->check(CLI::Range(0.01, 3600.0))
      ->default_val(10);
  app.add_option("--control-program", options.control_program,
                 "The control daemon (default: in this program's directory)");
  app.add_option("--daemon-timeout", options.daemon_timeout_s,
                 "Timeout in seconds for the control daemon's answers, after which its devices are unhealthy")
      ->check(CLI::Range(0.01, 3600.0))
      ->default_val(5);
  app.add_option("--runtime-socket", options.runtime_socket,
                 "The container runtime's socket: names and annotations of pods")
      ->envname("CONTAINER_RUNTIME_SOCKET")
      ->default_val("/run/containerd/containerd.sock");
  app.add_option("--pod-resources-socket", options.pod_resources_socket,
                 "The kubelet's socket: which pod holds which device")
      ->envname("POD_RESOURCES_SOCKET")
      ->default_val("/var/lib/kubelet/pod-resources/kubelet.sock");
  app.add_option("--proc-directory", options.proc_directory, "The host's /proc")->default_val("/proc");
  app.add_option("--mps-root", options.mps_root, "Directory for pipes and logs, at the same path on the host and here")
      ->envname("MPS_ROOT");
  app.add_option("--mig-strategy", options.mig_strategy, "none, single, mixed")->envname("MIG_STRATEGY");
  app.add_option("--fail-on-init-error", options.fail_on_init_error, "Exit if there are no devices; else keep trying")
      ->envname("FAIL_ON_INIT_ERROR");
  app.add_option("--pass-device-specs", options.pass_device_specs, "Give containers the GPUs' device nodes")
      ->envname("PASS_DEVICE_SPECS");
  app.add_option("--device-list-strategy", options.list_strategies, "envvar, volume-mounts, cdi-annotations, cdi-cri")
      ->envname("DEVICE_LIST_STRATEGY")
      ->delimiter(',');
  app.add_option("--device-id-strategy", options.device_id_strategy, "uuid, index")->envname("DEVICE_ID_STRATEGY");
  app.add_option("--cdi-annotation-prefix", options.cdi_annotation_prefix,
                 "Prefix of annotations that name CDI devices")
      ->envname("CDI_ANNOTATION_PREFIX");
  app.add_option("--shared-devices-allocation-policy", options.allocation_policy, "distributed, packed")
      ->envname("SHARED_DEVICES_ALLOCATION_POLICY");
  app.add_option("--gdrcopy-enabled", options.gdrcopy_enabled, "Set NVIDIA_GDRCOPY in containers")
      ->envname("GDRCOPY_ENABLED");
  app.add_option("--gds-enabled", options.gds_enabled, "Set NVIDIA_GDS in containers")->envname("GDS_ENABLED");
  app.add_option("--mofed-enabled", options.mofed_enabled, "Set NVIDIA_MOFED in containers")->envname("MOFED_ENABLED");
  app.add_option("--metrics-address", options.metrics_address, "Serve /metrics at ADDRESS:PORT")
      ->envname("METRICS_ADDRESS");
  app.add_option("--feature-file", options.feature_file,
                 "Write the node's labels to this file, for node-feature-discovery")
      ->envname("FEATURE_FILE");
  app.add_option("--node-api", options.node_api, "Put labels and taints on the node through the API server")
      ->envname("NODE_API");
  app.add_option("--node-name", options.node_name, "This node's name, for --node-api")->envname("NODE_NAME");
  app.add_option("--api-server", options.api_server,
                 "The API server, https://ADDRESS:PORT (default: from the pod's environment)");
  app.add_option("--service-account", options.account_directory, "Directory with token and ca.crt")
      ->default_val(kDefaultAccountDirectory);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return std::unexpected(app.exit(error) == 0 ? 0 : 2);
  }
  return options;
}

std::string ControlProgram(const Options& options) {
  if (!options.control_program.empty()) return options.control_program;
  return os::ProgramDirectory() + "/nvidia-cuda-mps-control";
}

namespace {

template <typename T>
void Override(const std::optional<T>& given, T& value) {
  if (given) value = *given;
}

}  // namespace

Result<sharing::Config> LoadConfig(const Options& options) {
  sharing::Config config;
  if (!options.config_file.empty()) {
    TUTTI_ASSIGN(const std::string text, sharing::ReadFile(options.config_file));
    TUTTI_ASSIGN(config, sharing::ReadConfig(text, options.config_file));
  }
  sharing::Flags& flags = config.flags;
  Override(options.mig_strategy, flags.mig_strategy);
  Override(options.mps_root, flags.mps_root);
  Override(options.device_id_strategy, flags.device_id_strategy);
  Override(options.allocation_policy, flags.allocation_policy);
  Override(options.cdi_annotation_prefix, flags.cdi_annotation_prefix);
  Override(options.fail_on_init_error, flags.fail_on_init_error);
  Override(options.pass_device_specs, flags.pass_device_specs);
  Override(options.gdrcopy_enabled, flags.gdrcopy_enabled);
  Override(options.gds_enabled, flags.gds_enabled);
  Override(options.mofed_enabled, flags.mofed_enabled);
  Override(options.metrics_address, config.extension.metrics_address);
  Override(options.feature_file, config.extension.feature_file);
  Override(options.node_api, config.extension.node_api);
  if (!options.list_strategies.empty()) {
    TUTTI_ASSIGN(flags.list_strategies, sharing::ParseListStrategies(options.list_strategies));
  }
  TUTTI_TRY(sharing::CheckConfig(config));
  return config;
}

}  // namespace tutti::kubernetes
