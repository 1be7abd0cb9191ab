#include "control/places.h"

#include <cstdlib>

namespace tutti::control {
namespace {

std::string Directory(const char* variable, const char* standard) {
  const char* value = std::getenv(variable);
  std::string path = value != nullptr && *value != '\0' ? value : standard;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

Places PlacesFromEnvironment() {
  return {Directory("CUDA_MPS_PIPE_DIRECTORY", kDefaultPipeDirectory),
          Directory("CUDA_MPS_LOG_DIRECTORY", kDefaultLogDirectory)};
}

}  // namespace tutti::control
