#include <cstdio>

#include "cli/subcommands.h"

namespace tutti::cli {

int Complain(const std::string& text) {
  std::fprintf(stderr, "tutti: %s\n", text.c_str());
  return 1;
}

}  // namespace tutti::cli
