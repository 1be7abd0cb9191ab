#include <cstdio>
#include <sstream>

#include "base/printable.h"
#include "cli/subcommands.h"

namespace tutti::cli {

int Complain(const std::string& text) {
  // Parts of it may come from servers, and so from their users.
  std::istringstream lines(text);
  const char* head = "tutti: ";
  for (std::string line; std::getline(lines, line); head = "")
    std::fprintf(stderr, "%s%s\n", head, Printable(line).c_str());
  return 1;
}

int ExitStatus(const Status& done) { return done ? 0 : Complain(done.error().text); }

}  // namespace tutti::cli
