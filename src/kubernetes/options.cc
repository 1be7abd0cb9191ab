#include "kubernetes/options.h"

#include "command_line/command_line.h"
#include "kubernetes/api_server.h"
#include "kubernetes/kubelet.h"
#include "os/program.h"
#include "sharing/document.h"

namespace tutti::kubernetes {

std::expected<Options, int> ParseOptions(int argc, char** argv) {
  Options options;
  options.kubelet_directory = kDefaultKubeletDirectory;
  options.account_directory = kDefaultAccountDirectory;
  command_line::Command line(
      "tutti-device-plugin",
      "Kubernetes device plugin of Tutti: shares each device between containers through the control daemon.");
  line.Version("tutti-device-plugin " TUTTI_VERSION);
  line.HelpColumn(40);
  line.AddOption("--config-file", &options.config_file, "NVIDIA's configuration file, or a Cast AI node template")
      .Environment("CONFIG_FILE");
  line.AddFlag("--check", &options.check_only, "Check the configuration and print what it offers; needs no kubelet");
  line.AddFlag("--run-daemon", &options.run_daemon,
               "Run the configured control daemon in the foreground, in a pod of its own "
               "(tutti.startDaemon: false)");
  line.AddOption("--kubelet-directory", &options.kubelet_directory, "The kubelet's device plugin directory")
      .Environment("KUBELET_DEVICE_PLUGIN_DIRECTORY")
      .ShowDefault();
  line.AddOption("--kubelet-timeout", &options.kubelet_timeout_s,
                 "Timeout in seconds for the kubelet's answers, after which the plugin registers again")
      .Check(command_line::Range(0.01, 3600.0))
      .ShowDefault();
  line.AddOption("--control-program", &options.control_program,
                 "The control daemon (default: in this program's directory)");
  line.AddOption("--daemon-timeout", &options.daemon_timeout_s,
                 "Timeout in seconds for the control daemon's answers, after which its devices are unhealthy")
      .Check(command_line::Range(0.01, 3600.0))
      .ShowDefault();
  line.AddOption("--runtime-socket", &options.runtime_socket,
                 "The container runtime's socket: names and annotations of pods")
      .Environment("CONTAINER_RUNTIME_SOCKET")
      .ShowDefault();
  line.AddOption("--pod-resources-socket", &options.pod_resources_socket,
                 "The kubelet's socket: which pod holds which device")
      .Environment("POD_RESOURCES_SOCKET")
      .ShowDefault();
  line.AddOption("--proc-directory", &options.proc_directory, "The host's /proc").ShowDefault();
  line.AddOption("--mps-root", &options.mps_root, "Directory for pipes and logs, at the same path on the host and here")
      .Environment("MPS_ROOT");
  line.AddOption("--mig-strategy", &options.mig_strategy, "none, single, mixed").Environment("MIG_STRATEGY");
  line.AddOption("--fail-on-init-error", &options.fail_on_init_error, "Exit if there are no devices; else keep trying")
      .Environment("FAIL_ON_INIT_ERROR");
  line.AddOption("--pass-device-specs", &options.pass_device_specs, "Give containers the GPUs' device nodes")
      .Environment("PASS_DEVICE_SPECS");
  line.AddOption("--device-list-strategy", &options.list_strategies, "envvar, volume-mounts, cdi-annotations, cdi-cri")
      .Environment("DEVICE_LIST_STRATEGY")
      .SeparatedBy(',');
  line.AddOption("--device-id-strategy", &options.device_id_strategy, "uuid, index").Environment("DEVICE_ID_STRATEGY");
  line.AddOption("--cdi-annotation-prefix", &options.cdi_annotation_prefix,
                 "Prefix of annotations that name CDI devices")
      .Environment("CDI_ANNOTATION_PREFIX");
  line.AddOption("--shared-devices-allocation-policy", &options.allocation_policy, "distributed, packed")
      .Environment("SHARED_DEVICES_ALLOCATION_POLICY");
  line.AddOption("--gdrcopy-enabled", &options.gdrcopy_enabled, "Set NVIDIA_GDRCOPY in containers")
      .Environment("GDRCOPY_ENABLED");
  line.AddOption("--gds-enabled", &options.gds_enabled, "Set NVIDIA_GDS in containers").Environment("GDS_ENABLED");
  line.AddOption("--mofed-enabled", &options.mofed_enabled, "Set NVIDIA_MOFED in containers")
      .Environment("MOFED_ENABLED");
  line.AddOption("--metrics-address", &options.metrics_address, "Serve /metrics at ADDRESS:PORT")
      .Environment("METRICS_ADDRESS");
  line.AddOption("--feature-file", &options.feature_file,
                 "Write the node's labels to this file, for node-feature-discovery")
      .Environment("FEATURE_FILE");
  line.AddOption("--node-api", &options.node_api, "Put labels and taints on the node through the API server")
      .Environment("NODE_API");
  line.AddOption("--node-name", &options.node_name, "This node's name, for --node-api").Environment("NODE_NAME");
  line.AddOption("--api-server", &options.api_server,
                 "The API server, https://ADDRESS:PORT (default: from the pod's environment)");
  line.AddOption("--service-account", &options.account_directory, "Directory with token and ca.crt").ShowDefault();
  if (const auto status = line.Parse(argc, argv)) return std::unexpected(*status == 0 ? 0 : 2);
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
