#include "os/program.h"

#include <cstdlib>
#include <filesystem>

namespace tutti::os {

std::string ProgramPath() {
  std::error_code error;
  std::string path = std::filesystem::read_symlink("/proc/self/exe", error).string();
  constexpr std::string_view kReplaced = " (deleted)";  // the kernel's suffix for a deleted file
  if (path.ends_with(kReplaced)) path.resize(path.size() - kReplaced.size());
  return path;
}

std::string ProgramDirectory() {
  const std::string path = ProgramPath();
  return path.empty() ? "." : std::filesystem::path(path).parent_path().string();
}

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace tutti::os
