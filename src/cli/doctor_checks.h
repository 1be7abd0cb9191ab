// The questions `tutti doctor` asks, one function each. Their order is the order in which things have to work.
#pragma once

#include <string>
#include <vector>

namespace tutti::cli {

struct Finding {
  enum class Kind { kOk, kNote, kProblem };
  Kind kind = Kind::kOk;
  std::string text;    // what was found
  std::string remedy;  // of a problem or a note: what to do
};

Finding CheckPrograms();        // server and compiler stand beside this program
Finding CheckLoaderPath();      // which libcuda.so.1 an ordinary program gets; asked before any is loaded
Finding CheckLibrary();         // our libcuda.so.1 is there and can be loaded
Finding CheckProcessor();       // vector instructions
Finding CheckMemoryFiles();     // memfd with seals
Finding CheckDescriptorLimit();
Finding CheckPipeDirectory();
Finding CheckDaemon();
Finding CheckServer();          // the daemon starts a server for this user
Finding CheckKernel();          // a program compiles, launches and gets the right result

}  // namespace tutti::cli
