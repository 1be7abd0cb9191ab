// Locates the parts of this installation, relative to the running program's file.
#pragma once

#include <string>

#include "base/error.h"

namespace tutti::cli {

// Directory of our libcuda.so.1: TUTTI_LIBRARY_DIR if set, else ../lib or ../lib/tutti beside the programs.
Result<std::string> LibraryDirectory();

// Beside it: what stands in for the vendor's tools (nvidia-smi), for the front of PATH.
std::string ToolsDirectory(const std::string& library_directory);

// Below it: cuBLAS and cuFFT of the CPU device. They have a folder of their own, so that who puts the libcuda.so.1 in
// front does not get them with it.
std::string StandInDirectory(const std::string& library_directory);

}  // namespace tutti::cli
