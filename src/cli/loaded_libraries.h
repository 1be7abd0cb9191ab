// The libraries that the dynamic loader loads when a program starts, and those that they need in turn: the loader is
// asked itself (as ldd does), so search paths, LD_LIBRARY_PATH and LD_PRELOAD apply. Those that a program loads later
// (dlopen) are not known before it runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tutti::cli {

// Paths, in the loader's order; libraries that are not found are left out. `file` is a program or a library. Fails if
// it is linked statically, or no file of this machine.
Result<std::vector<std::string>> LoadedLibraries(const std::string& file);

// The paths in what the loader lists: "\tNAME => PATH (ADDRESS)", "\tPATH (ADDRESS)".
std::vector<std::string> PathsInListing(std::string_view listing);

}  // namespace tutti::cli
