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
  std::string command;  // kCommand: the words given, joined by blanks
};

// Fails with a line that names the option and says what to do.
Result<Options> ParseOptions(const std::vector<std::string>& arguments);

extern const char* const kHelpText;

}  // namespace tutti::daemon
