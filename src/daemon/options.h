// The command line of tutti-control.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace tutti::daemon {

enum class Mode { kShell, kCommand, kBackground, kForeground, kHelp, kVersion };

struct Options {
  Mode mode = Mode::kShell;
  bool multi_user = false;
  bool static_partitioning = false;
  bool new_clients_only = false;
  bool fresh = false;
  bool servers_die = false;
  int protocol = 2;
  std::string policy;         // "": as the other options imply
  std::string configuration;  // absolute path of a TOML file; "": none
  std::string command;        // kCommand: the words given, joined by spaces
};

// `protocol_variable`: CUDA_MPS_PROTOCOL_VERSION, "" if unset; it wins over the option. Fails with a line that names
// the option and says what to do.
Result<Options> ParseOptions(const std::vector<std::string>& arguments, const std::string& protocol_variable = "");

extern const char* const kHelpText;

}  // namespace tutti::daemon
