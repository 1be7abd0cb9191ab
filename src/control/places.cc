#include "control/places.h"

#include <cstdlib>
#include <filesystem>

namespace tutti::control {
namespace {

std::string Directory(const char* variable, const char* standard) {
  std::error_code ignored;
  const char* value = std::getenv(variable);
  std::string path = value != nullptr && *value != '\0' ? value : standard;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  // The daemon leaves the directory it was started in.
  if (path.front() != '/') path = std::filesystem::current_path(ignored).string() + "/" + path;
  return path;
}

}  // namespace

Places PlacesFromEnvironment() {
  return {Directory("CUDA_MPS_PIPE_DIRECTORY", kDefaultPipeDirectory),
          Directory("CUDA_MPS_LOG_DIRECTORY", kDefaultLogDirectory)};
}

}  // namespace tutti::control
