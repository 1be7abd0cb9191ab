#include "server/options.h"

#include "command_line/command_line.h"

namespace tutti::server {
namespace {

constexpr uint64_t kMostKernelTimeMs = 1'000'000'000;

}  // namespace

Result<Options> ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  command_line::Command line("tutti-server",
                             "tutti-server: shares a device among CUDA processes. Started by tutti-control, or by a "
                             "program that runs without a daemon; not by hand.");
  line.Version("tutti-server " TUTTI_VERSION, "-v,--version");
  line.OnMistake([](const std::string&, const std::string& problem) { return problem + " (see --help)"; });
  command_line::Command& mode = line.AddChoice("mode", "who started it");
  mode.AddOption("--daemon-socket-fd", &options.daemon_socket_fd, "descriptor of the socket to the control daemon")
      .Check(command_line::NotNegative());
  mode.AddOption("--private-fd", &options.private_fd, "descriptor of the connection of the only client")
      .Check(command_line::NotNegative());
  line.AddOption("--rendezvous-fd", &options.rendezvous_fd,
                 "descriptor of the socket that the next daemon connects to, should this one die")
      .Check(command_line::NotNegative());
  line.AddOption("--log", &options.log, "file to append the log to (default: stderr)");
  line.AddOption("--device", &options.device,
                 "cpu: run kernels on this machine's cores; cuda: on a GPU, by its vendor's driver "
                 "(TUTTI_VENDOR_LIBCUDA, or the system's); auto: cuda if there is one, else cpu; null: accept and "
                 "discard all work")
      .Environment("TUTTI_DEVICE")
      .Check(command_line::OneOf({"auto", "cpu", "cuda", "null"}));
  std::string policy = "share";
  line.AddOption("--policy", &policy, "how clients share the device")
      .Check(command_line::OneOf(
          std::vector<std::string>(std::begin(device::kPolicyNames), std::end(device::kPolicyNames))));
  std::string isolation = "process";
  line.AddOption(
          "--isolation", &isolation,
          "on a GPU, which clients share a context of its driver: process: none; shared: those of one user, "
          "whose kernels check their own addresses, and so are made from PTX; auto: the same, but one that loads "
          "other code moves to a context of its own")
      .Environment("TUTTI_ISOLATION")
      .Check(command_line::OneOf({"auto", "process", "shared"}));
  line.AddOption("--trust", &options.trust,
                 "1: with --isolation shared or auto kernels run as they are: a user's clients may read and write each "
                 "other's memory on the GPU, and end with each other's faults")
      .Environment("TUTTI_TRUST");
  line.AddOption("--active-thread-percentage", &options.active_thread_percentage, "of a private server's client")
      .Check(command_line::Range(0.01, 100.0));

  line.AddOption("--kernel-time", &options.kernel_time_ms,
                 "time limit of a kernel in milliseconds, 0: none; a client's own limit takes precedence")
      .Environment("TUTTI_KERNEL_TIME_MS")
      .Check(command_line::Range(uint64_t{0}, kMostKernelTimeMs));

  if (const auto stop = line.Read(arguments)) {
    if (stop->status != 0) return Fail(stop->text);
    options.answer = stop->text;
    return options;
  }
  options.policy = *device::ParsePolicy(policy);
  if (isolation == "shared") options.isolation = device::gpu::Isolation::kShared;
  if (isolation == "auto") options.isolation = device::gpu::Isolation::kAuto;
  return options;
}

}  // namespace tutti::server
