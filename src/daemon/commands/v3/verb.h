// Protocol 3's language: <module> <verb> [positional ...] [--key=value | key=value | --flag ...]. A module is a file
// here; its verbs are rows of a table that drives the check of the words and the help.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control/text_table.h"
#include "daemon/control/command.h"
#include "daemon/control/command_context.h"

namespace tutti::daemon::v3 {

struct OptionRule {
  std::string_view key;
  std::string_view value;  // its placeholder in help: "pct"; empty: a flag
  bool required = false;
};

// One command, its words checked against its verb's rules. Copies share the reply.
struct Request {
  CommandCall call;
  std::vector<std::string> positionals;
  std::map<std::string, std::string, std::less<>> options;  // flags with an empty value
  control::OutputFormat format;

  const CommandContext& context() const { return call.context; }
  uid_t uid() const { return call.caller.uid; }
  std::string positional(size_t index) const { return index < positionals.size() ? positionals[index] : ""; }
  const std::string* option(std::string_view key) const {
    const auto found = options.find(key);
    return found == options.end() ? nullptr : &found->second;
  }
  bool flag(std::string_view key) const { return options.contains(key); }

  void Print(const control::TextTable& table) const { call.reply.Text(control::Format(table, format)); }
  void Line(std::string line) const { call.reply.Line(std::move(line)); }
  void Done() const { call.reply.Nothing(); }
  // The command failed: `why` goes to stderr, the exit status is 1.
  void Refuse(const std::string& why) const { call.reply.Finish({.text = why + "\n", .exit_status = 1}); }
};

struct Verb {
  std::string_view name;
  std::string_view positionals;  // for help and counting: "<name> [<field>]"
  std::vector<OptionRule> options;
  std::string_view summary;
  void (*run)(const Request& request);
};

struct Module {
  std::string_view name;
  std::string_view summary;
  std::span<const Verb> verbs;
};

const Module& ServerModule();
const Module& NamespaceModule();
const Module& ClientModule();
const Module& DeviceModule();
const Module& SmPartitionModule();
const Module& FeatureModule();
const Module& MemacctModule();
const Module& ContextShareModule();
std::span<const Module* const> Modules();

// Runs a command whose first word is a module, `help`, or unknown.
void Run(const CommandCall& call);

}  // namespace tutti::daemon::v3
