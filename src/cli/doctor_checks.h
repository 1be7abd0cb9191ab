// The checks of `tutti doctor`, one function each, in the order in which things have to work. All are run, whatever the
// others found.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "image/code_census.h"

namespace tutti::cli {

// What CUDA code a program or a library holds.
struct CodeOfFile {
  std::string file;
  image::CodeCensus census;
};

struct Finding {
  enum class Kind { kOk, kNote, kProblem };
  Kind kind = Kind::kOk;
  std::string text;  // what was found
  std::string remedy;  // for a problem or a note: what to do, as a command where possible
  std::optional<CodeOfFile> code = std::nullopt;  // of findings about a file's code
};

struct Patient {
  std::string program;  // path of the program to be run; empty: none given
  bool needs_service = false;  // a private server does not suffice
};

// The installation.
Finding CheckPrograms(const Patient&);  // the others stand beside this one
Finding CheckLoader(
    const Patient&);  // which libcuda.so.1 the program gets, and why; asked before this process loads one
Finding CheckLibrary(const Patient&);  // our libcuda.so.1 is there and can be loaded
std::vector<Finding> CheckCode(const Patient&);  // the program has PTX, and so have the libraries it starts with
// The machine.
Finding CheckProcessor(const Patient&);  // vector instructions
Finding CheckMemoryFiles(const Patient&);  // memfd with seals
Finding CheckDescriptorLimit(const Patient&);
Finding CheckDisk(const Patient&);  // room where logs and compiled kernels go
// The service.
Finding CheckPipeDirectory(const Patient&);
Finding CheckDaemon(const Patient&);  // one answers here, and in our language
Finding CheckServer(const Patient&);  // the daemon starts a server for this user
Finding CheckComputeMode(const Patient&);  // the devices may be used this way
Finding CheckKernel(const Patient&);  // a program compiles, launches and gets the right result

}  // namespace tutti::cli
