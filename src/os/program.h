// This process's own program and what it was given.
#pragma once

#include <string>

namespace tutti::os {

// The file that this process runs; the name it had, if it has been replaced since. "" where /proc is missing.
std::string ProgramPath();
// The directory of that file: the other programs of the installation stand beside it. "." where /proc is missing.
std::string ProgramDirectory();

// The value of an environment variable, "" if it is not set. The caller runs with the rights of who set it (no setuid).
std::string Environment(const char* name);

}  // namespace tutti::os
