#include "control/places.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace tutti::control {
namespace {

std::string Directory(const char* variable, const char* standard) {
  std::error_code ignored;
  const char* value = std::getenv(variable);
  std::string path = value != nullptr && *value != '\0' ? value : standard;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  // Made absolute, since the daemon changes its working directory.
  if (path.front() != '/') path = std::filesystem::current_path(ignored).string() + "/" + path;
  return path;
}

Places PlacesWith(const char* pipe_directory) {
  return {Directory("CUDA_MPS_PIPE_DIRECTORY", pipe_directory),
          Directory("CUDA_MPS_LOG_DIRECTORY", kDefaultLogDirectory)};
}

}  // namespace

Places PlacesFromEnvironment() {
  const Places usual = PlacesWith(kDefaultPipeDirectory);
  const Places newer = PlacesWith(kDefaultPipeDirectory3);
  const auto has_socket = [](const Places& places) { return access(places.control_socket().c_str(), F_OK) == 0; };
  return has_socket(usual) || !has_socket(newer) ? usual : newer;
}

Places PlacesForDaemon(int protocol) {
  return PlacesWith(protocol == 3 && geteuid() == 0 ? kDefaultPipeDirectory3 : kDefaultPipeDirectory);
}

}  // namespace tutti::control
