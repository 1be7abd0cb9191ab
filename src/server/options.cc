#include "server/options.h"

#include <CLI/CLI.hpp>

namespace tutti::server {
namespace {

constexpr uint64_t kMostKernelTimeMs = 1'000'000'000;

}  // namespace

Result<Options> ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  CLI::App app(
      "tutti-server: shares a device among CUDA processes. Started by tutti-control, or by a program that runs "
      "without a daemon; not by hand.",
      "tutti-server");
  app.set_version_flag("-v,--version", "tutti-server " TUTTI_VERSION);
  auto* modes = app.add_option_group("mode", "who started it");
  modes->add_option("--daemon-socket-fd", options.daemon_socket_fd, "descriptor of the socket to the control daemon")
      ->check(CLI::NonNegativeNumber);
  modes->add_option("--private-fd", options.private_fd, "descriptor of the connection of the only client")
      ->check(CLI::NonNegativeNumber);
  modes->require_option(1);
  app.add_option("--rendezvous-fd", options.rendezvous_fd,
                 "descriptor of the socket that the next daemon connects to, should this one die")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--log", options.log, "file to append the log to (default: stderr)");
  app.add_option("--device", options.device,
                 "cpu: run kernels on this machine's cores; null: accept and discard all work")
      ->check(CLI::IsMember({"cpu", "null"}));
  std::string policy = "share";
  app.add_option("--policy", policy, "how clients share the device")
      ->check(
          CLI::IsMember(std::vector<std::string>(std::begin(device::kPolicyNames), std::end(device::kPolicyNames))));
  app.add_option("--active-thread-percentage", options.active_thread_percentage, "of a private server's client")
      ->check(CLI::Range(0.01, 100.0));

  app.add_option("--kernel-time", options.kernel_time_ms,
                 "time limit of a kernel in milliseconds, 0: none; a client's own limit takes precedence")
      ->envname("TUTTI_KERNEL_TIME_MS")
      ->check(CLI::Range(uint64_t{0}, kMostKernelTimeMs));

  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    options.answer = app.help();
    return options;
  } catch (const CLI::CallForVersion& version) {
    options.answer = std::string(version.what()) + "\n";
    return options;
  } catch (const CLI::ParseError& error) {
    return Fail(std::string(error.what()) + " (see --help)");
  }
  options.policy = *device::ParsePolicy(policy);
  return options;
}

}  // namespace tutti::server
