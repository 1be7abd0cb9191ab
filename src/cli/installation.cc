#include "cli/installation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "os/program.h"

namespace tutti::cli {

Result<std::string> LibraryDirectory() {
  const std::string base = std::filesystem::path(os::ProgramDirectory()).parent_path();
  std::string looked;
  for (const std::string& directory : {os::Environment("TUTTI_LIBRARY_DIR"), base + "/lib", base + "/lib/tutti"}) {
    if (directory.empty()) continue;
    if (access((directory + "/libcuda.so.1").c_str(), R_OK) == 0) return directory;
    looked += (looked.empty() ? "" : ", ") + directory;
  }
  return Fail(fmt::format("no libcuda.so.1 in {}: build it, or set TUTTI_LIBRARY_DIR to its directory", looked));
}

std::string ToolsDirectory(const std::string& library_directory) {
  return (std::filesystem::path(library_directory).lexically_normal() / "../libexec").lexically_normal().string();
}

std::string StandInDirectory(const std::string& library_directory) { return library_directory + "/libraries"; }

}  // namespace tutti::cli
