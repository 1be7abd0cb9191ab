#include "cli/installation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace tutti::cli {

std::string ProgramDirectory() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "." : program.parent_path().string();
}

Result<std::string> LibraryDirectory() {
  const char* const given = std::getenv("TUTTI_LIBRARY_DIR");
  const std::string base = std::filesystem::path(ProgramDirectory()).parent_path();
  std::string looked;
  for (const std::string& directory : {std::string(given != nullptr ? given : ""), base + "/lib", base + "/lib/tutti"}) {
    if (directory.empty()) continue;
    if (access((directory + "/libcuda.so.1").c_str(), R_OK) == 0) return directory;
    looked += (looked.empty() ? "" : ", ") + directory;
  }
  return Fail(fmt::format("no libcuda.so.1 in {}: build it, or set TUTTI_LIBRARY_DIR to its directory", looked));
}

}  // namespace tutti::cli
