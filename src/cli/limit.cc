// `tutti limit PID ...` and `tutti policy`: a friendlier form of the control commands.
#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "cli/format.h"
#include "cli/report.h"
#include "cli/subcommands.h"
#include "cli/values.h"
#include "control/limits.h"
#include "control/policy.h"
#include "control/words.h"

namespace tutti::cli {
namespace {

struct LimitOptions {
  uint32_t pid = 0;
  std::string threads;
  std::string memory;
  std::string priority;
  std::optional<uint32_t> kernel_time_ms;
};

Result<std::string> Ask(control::DaemonConnection& daemon, const std::string& line) {
  TUTTI_ASSIGN(const control::Answer answer, daemon.Run(line));
  std::string text = answer.text;
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// "2G" for device 0, or "1=2G,GPU-1234=512M".
Result<std::vector<std::string>> MemoryCommands(uint32_t pid, const std::string& text) {
  std::vector<std::string> commands;
  for (const std::string& entry : control::SplitList(text)) {
    const size_t equals = entry.find('=');
    const std::string device = equals == std::string::npos ? "0" : entry.substr(0, equals);
    const std::string size = equals == std::string::npos ? entry : entry.substr(equals + 1);
    if (!control::IsDeviceIdentifier(device)) {
      return Fail(
          fmt::format("--memory: device \"{}\" is neither an ordinal nor a UUID: give 2G, or 0=2G,1=512M", device));
    }
    if (const auto bytes = control::ParseMemory(size); !bytes) return Fail("--memory: " + bytes.error().text);
    commands.push_back(fmt::format("set_device_pinned_mem_limit {} {} {}", pid, device, size));
  }
  return commands;
}

// Checks every value before setting the first: all apply, or none.
Result<std::vector<std::string>> Commands(const LimitOptions& options) {
  std::vector<std::string> commands;
  if (!options.threads.empty()) {
    if (const auto value = control::ParsePercentage(options.threads); !value)
      return Fail("--threads: " + value.error().text);
    commands.push_back(fmt::format("set_active_thread_percentage {} {}", options.pid, options.threads));
  }
  if (!options.memory.empty()) {
    TUTTI_ASSIGN(const auto memory, MemoryCommands(options.pid, options.memory));
    commands.insert(commands.end(), memory.begin(), memory.end());
  }
  if (!options.priority.empty())
    commands.push_back(fmt::format("set_client_priority {} {}", options.pid, options.priority == "low" ? 1 : 0));
  if (options.kernel_time_ms)
    commands.push_back(fmt::format("set_client_kernel_time {} {}", options.pid, *options.kernel_time_ms));
  return commands;
}

const ClientReport* Find(const Report& report, uint32_t pid) {
  for (const ServerReport& server : report.servers) {
    for (const ClientReport& client : server.clients) {
      if (client.pid == pid) return &client;
    }
  }
  return nullptr;
}

std::string Describe(const ClientReport& client) {
  return fmt::format(
      "{}: threads {}%, memory {}, used {}, {}", client.pid, control::FormatPercentage(client.percentage),
      client.limit_bytes ? Bytes(*client.limit_bytes) : "unlimited", Bytes(client.used_bytes), client.command);
}

Status RunLimit(const LimitOptions& options) {
  TUTTI_ASSIGN(auto daemon, control::DaemonConnection::Open(control::PlacesFromEnvironment()));
  TUTTI_ASSIGN(const auto commands, Commands(options));
  TUTTI_ASSIGN(const Report report, FetchReport(daemon));
  if (Find(report, options.pid) == nullptr)
    return Fail(fmt::format("no program {} shares the device: tutti ps lists those that do", options.pid));
  for (const std::string& command : commands) {
    TUTTI_ASSIGN(const std::string answer, Ask(daemon, command));
    // A percentage is answered with the value in force; everything else with nothing, or with the error.
    if (!answer.empty() && !control::ParsePercentage(answer)) return Fail(answer);
  }
  TUTTI_ASSIGN(const Report after, FetchReport(daemon));
  if (const ClientReport* client = Find(after, options.pid)) std::printf("%s\n", Describe(*client).c_str());
  return {};
}

Status RunPolicy(const std::string& name) {
  TUTTI_ASSIGN(auto daemon, control::DaemonConnection::Open(control::PlacesFromEnvironment()));
  if (!name.empty()) {
    TUTTI_ASSIGN(const std::string answer, Ask(daemon, "set_policy " + name));
    if (!answer.empty()) return Fail(answer);
  }
  TUTTI_ASSIGN(const std::string policy, Ask(daemon, "get_policy"));
  std::printf("%s\n", policy.c_str());
  return {};
}

}  // namespace

void AddLimit(Command& tutti) {
  Command& limit = tutti.AddCommand("limit", "Change the limits of a running program; without options show them");
  const auto options = std::make_shared<LimitOptions>();
  limit.AddOption("pid", &options->pid, "Process id of the program (see tutti ps)")
      .Required()
      .Check(WholeNumber("4711"));
  limit.AddOption("-t,--threads", &options->threads, "At most this percentage of the device: above 0, at most 100");
  limit.AddOption("-m,--memory", &options->memory,
                  "At most this much memory of device 0: 2G, 512M; or by device: 0=2G,1=512M");
  limit.AddOption("-p,--priority", &options->priority, "low or normal; normal goes first")
      .Check(OneOf({"normal", "low"}));
  limit.AddOption("--kernel-time", &options->kernel_time_ms, "Time limit of a kernel in milliseconds; 0: none")
      .Check(WholeNumber("500"));
  limit.Do([options] { return ExitStatus(RunLimit(*options)); });
}

void AddPolicy(Command& tutti) {
  Command& policy = tutti.AddCommand("policy", "Show or choose how programs share the device");
  const auto name = std::make_shared<std::string>();
  policy.AddOption("name", name.get(), "The policy from now on; without it, show the one in force")
      .Check(OneOf({control::kPolicyNames.begin(), control::kPolicyNames.end()}));
  policy.Do([name] { return ExitStatus(RunPolicy(*name)); });
}

}  // namespace tutti::cli
