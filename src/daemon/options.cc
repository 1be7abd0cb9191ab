#include "daemon/options.h"

#include <fmt/format.h>

namespace tutti::daemon {

const char* const kHelpText =
    R"(tutti-control: control daemon and shell of Tutti, an open Multi-Process Service for CUDA.

Usage:
  tutti-control -d                start the daemon in the background; returns when it answers
  tutti-control -f                start the daemon in the foreground, its log on stdout too
  tutti-control [COMMAND ...]     run one command
  tutti-control                   run the commands on stdin, one per line; `help` lists them

Options:
  -d, --daemon            background daemon
  -f, --foreground        foreground daemon
  -M, --multiuser, -multiuser-server
                          all users share one server of the daemon's user
  -p, --protocol 2        control protocol; 2 is the only one
  -v, --version           print the version as a number
  -h, --help              this text

Environment:
  CUDA_MPS_PIPE_DIRECTORY             where daemon, shells and programs meet (/tmp/nvidia-mps)
  CUDA_MPS_LOG_DIRECTORY              control.log and server.log (/var/log/nvidia-mps)
  CUDA_MPS_ACTIVE_THREAD_PERCENTAGE   default of servers, for a daemon
  CUDA_MPS_PINNED_DEVICE_MEM_LIMIT    the same: 0=2G,1=512M
  CUDA_MPS_CLIENT_PRIORITY            default of clients: 0 or 1
)";

namespace {

Result<void> TakeProtocol(const std::string& value) {
  if (value == "2") return {};
  return Fail(fmt::format("control protocol \"{}\" is not supported: use 2, or leave the option out", value));
}

}  // namespace

Result<Options> ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "-d" || word == "--daemon") {
      options.mode = Mode::kBackground;
    } else if (word == "-f" || word == "--foreground") {
      options.mode = Mode::kForeground;
    } else if (word == "-h" || word == "--help") {
      options.mode = Mode::kHelp;
      return options;
    } else if (word == "-v" || word == "--version") {
      options.mode = Mode::kVersion;
      return options;
    } else if (word == "-M" || word == "--multiuser" || word == "-multiuser-server") {
      options.multi_user = true;
    } else if (word == "-p" || word == "--protocol") {
      TUTTI_TRY(TakeProtocol(i + 1 < arguments.size() ? arguments[++i] : ""));
    } else if (word == "-S" || word == "--static-partitioning") {
      return Fail(fmt::format("option {} (static SM partitioning) is not supported: leave it out", word));
    } else if (word.starts_with('-')) {
      return Fail(fmt::format("option {} is unknown: see tutti-control -h", word));
    } else {
      options.mode = Mode::kCommand;
      for (; i < arguments.size(); ++i) options.command += (options.command.empty() ? "" : " ") + arguments[i];
    }
  }
  return options;
}

}  // namespace tutti::daemon
