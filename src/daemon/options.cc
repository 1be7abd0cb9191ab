#include "daemon/options.h"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <string_view>

#include "control/policy.h"

namespace tutti::daemon {

const char* const kHelpText =
    R"(tutti-control: control daemon and shell of Tutti, an open Multi-Process Service for CUDA.

Usage:
  tutti-control -d [OPTION ...]   start the daemon in the background; returns when it answers
  tutti-control -f [OPTION ...]   start the daemon in the foreground, its log on stdout too
  tutti-control [COMMAND ...]     run one command
  tutti-control                   run the commands on stdin, one per line; `help` lists them

Options:
  -d, --daemon            background daemon
  -f, --foreground        foreground daemon
  -M, -m, --multiuser, -multiuser-server
                          all users share one server of the daemon's user
  -p, --protocol 2|3      control protocol: 2 (one server per user), 3 (named servers and namespaces)
  -S, --static-partitioning
                          every client needs an SM partition (protocol 2)
  -a, --apply FILE        servers, namespaces and partitions of a TOML file (protocol 3)
  -q, --quit              stop the daemon and its servers
      --policy NAME       how clients share the device: share, priority, time_slice or partition
      --new-clients-only  limits that are set do not touch clients that run already
      --fresh             leave the settings of a daemon that was killed; its servers end with their last clients
      --servers-die       servers die with the daemon if it is killed; otherwise the next daemon adopts them
  -v, --version           print the version as a number
  -h, --help              this text

Environment:
  CUDA_MPS_PIPE_DIRECTORY             where daemon, shells and programs meet (/tmp/nvidia-mps; with protocol 3,
                                      for root: /run/nvidia-mps)
  CUDA_MPS_LOG_DIRECTORY              control.log and server.log (/var/log/nvidia-mps)
  CUDA_MPS_PROTOCOL_VERSION           2 or 3; wins over -p
  CUDA_MPS_ACTIVE_THREAD_PERCENTAGE   default of servers, for a daemon
  CUDA_MPS_PINNED_DEVICE_MEM_LIMIT    the same: 0=2G,1=512M
  CUDA_MPS_CLIENT_PRIORITY            default of clients: 0 or 1
  CUDA_VISIBLE_DEVICES                the devices of this daemon; its clients count them from 0
)";

namespace {

Result<int> ReadProtocol(std::string_view value, std::string_view where) {
  if (value == "2") return 2;
  if (value == "3") return 3;
  return Fail(fmt::format("control protocol \"{}\" ({}) is unknown: give 2 or 3", value, where));
}

// The daemon changes its working directory.
std::string AbsolutePath(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::absolute(path, ignored).string();
}

struct Option {
  std::vector<std::string_view> names;
  std::string_view value;  // its argument; empty: none
  std::function<Status(Options&, const std::string&)> take;
};

const std::vector<Option>& AllOptions() {
  static const std::vector<Option> options{
      {{"-d", "--daemon"},
       "",
       [](Options& o, const auto&) -> Status {
         o.mode = Mode::kBackground;
         return {};
       }},
      {{"-f", "--foreground"},
       "",
       [](Options& o, const auto&) -> Status {
         o.mode = Mode::kForeground;
         return {};
       }},
      {{"-h", "--help"},
       "",
       [](Options& o, const auto&) -> Status {
         o.mode = Mode::kHelp;
         return {};
       }},
      {{"-v", "--version"},
       "",
       [](Options& o, const auto&) -> Status {
         o.mode = Mode::kVersion;
         return {};
       }},
      {{"-M", "-m", "--multiuser", "-multiuser-server"},
       "",
       [](Options& o, const auto&) -> Status {
         o.multi_user = true;
         return {};
       }},
      {{"-S", "--static-partitioning"},
       "",
       [](Options& o, const auto&) -> Status {
         o.static_partitioning = true;
         return {};
       }},
      {{"--new-clients-only"},
       "",
       [](Options& o, const auto&) -> Status {
         o.new_clients_only = true;
         return {};
       }},
      {{"--fresh"},
       "",
       [](Options& o, const auto&) -> Status {
         o.fresh = true;
         return {};
       }},
      {{"--servers-die"},
       "",
       [](Options& o, const auto&) -> Status {
         o.servers_die = true;
         return {};
       }},
      {{"-q", "--quit"},
       "",
       [](Options& o, const auto&) -> Status {
         o.mode = Mode::kCommand;
         o.command = "quit";
         return {};
       }},
      {{"-p", "--protocol"},
       "2 or 3",
       [](Options& o, const std::string& value) -> Status {
         TUTTI_ASSIGN(o.protocol, ReadProtocol(value, "option -p"));
         return {};
       }},
      {{"-a", "--apply"},
       "a TOML file",
       [](Options& o, const std::string& value) -> Status {
         o.configuration = AbsolutePath(value);
         return {};
       }},
      {{"--policy"}, control::kPolicyNamesText, [](Options& o, const std::string& value) -> Status {
         if (!control::IsPolicy(value))
           return Fail(fmt::format("policy \"{}\" is unknown: give {}", value, control::kPolicyNamesText));
         o.policy = value;
         return {};
       }}};
  return options;
}

const Option* Find(std::string_view name) {
  for (const Option& option : AllOptions()) {
    for (const std::string_view known : option.names) {
      if (known == name) return &option;
    }
  }
  return nullptr;
}

// Conflicting options.
Status Check(const Options& options) {
  if (options.protocol == 3 && options.static_partitioning) {
    return Fail("option -S belongs to protocol 2: with protocol 3 leave it out and use `sm-partition create`");
  }
  if (options.protocol != 3 && !options.configuration.empty()) return Fail("option -a belongs to protocol 3: add -p 3");
  return {};
}

}  // namespace

Result<Options> ParseOptions(const std::vector<std::string>& arguments, const std::string& protocol_variable) {
  Options options;
  size_t next = 0;
  while (next < arguments.size() && arguments[next].starts_with('-')) {
    const std::string word = arguments[next++];
    // "--policy=share" as well as "--policy share"
    const size_t equals = word.starts_with("--") ? std::min(word.find('='), word.size()) : word.size();
    const Option* const option = Find(word.substr(0, equals));
    if (option == nullptr) return Fail(fmt::format("option {} is unknown: see tutti-control -h", word));
    std::string value;
    if (!option->value.empty()) {
      if (equals == word.size() && next == arguments.size())
        return Fail(fmt::format("option {} needs {}", word, option->value));
      value = equals < word.size() ? word.substr(equals + 1) : arguments[next++];
    }
    TUTTI_TRY(option->take(options, value));
    if (options.mode == Mode::kHelp || options.mode == Mode::kVersion) return options;
  }
  const bool starts_daemon = options.mode == Mode::kBackground || options.mode == Mode::kForeground;
  if (starts_daemon && !protocol_variable.empty()) {
    TUTTI_ASSIGN(options.protocol, ReadProtocol(protocol_variable, "environment variable CUDA_MPS_PROTOCOL_VERSION"));
  }
  if (next < arguments.size()) {
    if (starts_daemon) {
      return Fail(
          fmt::format("\"{}\" is a command, and {} starts a daemon: give the command alone to the daemon that runs",
                      arguments[next], options.mode == Mode::kBackground ? "-d" : "-f"));
    }
    options.mode = Mode::kCommand;
    options.command.clear();
  }
  for (; next < arguments.size(); ++next) options.command += (options.command.empty() ? "" : " ") + arguments[next];
  TUTTI_TRY(Check(options));
  return options;
}

}  // namespace tutti::daemon
