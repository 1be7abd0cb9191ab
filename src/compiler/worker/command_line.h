// The command line of tutti-compiler.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "compiler/pipeline.h"

namespace tutti::compiler {

struct CommandLine {
  bool worker = false;          // serve compiler/protocol/compile_protocol.h; nothing below matters
  bool cache_key = false;       // print what decides the generated code
  std::string input;            // a file, or "-"
  std::string output;           // empty: standard output for text
  std::string kernel;           // empty: the only one
  std::optional<Stage> stage;   // none: list the module
  bool index = false;           // --emit=index
  bool verbose = false;
  bool quick = false;           // code of single threads
  std::string cpu;              // empty: this machine's
  std::array<uint32_t, 3> block = {0, 0, 0};
  uint32_t optimize = 2;
  uint32_t capability = 0;
};

// The parsed line, or the exit status of a program that has nothing left to do (--help, --version, a mistake).
struct CommandLineResult {
  CommandLine line;
  std::optional<int> exit_status;
};
CommandLineResult ParseCommandLine(int count, char** arguments);

}  // namespace tutti::compiler
