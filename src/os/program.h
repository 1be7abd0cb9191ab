// This process's own program and environment.
#pragma once

#include <string>

namespace tutti::os {

// The path of the file that this process runs; the original name if the file has been replaced since. "" without /proc.
std::string ProgramPath();
// The directory of that file, where the installation's other programs are. "." without /proc.
std::string ProgramDirectory();

// The value of an environment variable, "" if it is not set. Not for setuid programs: the environment is trusted.
std::string Environment(const char* name);

}  // namespace tutti::os
