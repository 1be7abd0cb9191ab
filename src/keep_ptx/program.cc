#include "keep_ptx/program.h"

#include <cstring>

namespace tutti::keep_ptx {
namespace {

const char* NameOf(const char* file) {
  const char* const slash = std::strrchr(file, '/');
  return slash != nullptr ? slash + 1 : file;
}

bool StartsWith(const char* text, const char* start) { return std::strncmp(text, start, std::strlen(start)) == 0; }

}  // namespace

// Triton's packages have one more for newer devices: ptxas-blackwell
bool IsPtxas(const char* file) {
  const char* const name = NameOf(file);
  return std::strcmp(name, "ptxas") == 0 || StartsWith(name, "ptxas-");
}

bool IsPython(const char* file) {
  const char* const name = NameOf(file);
  return StartsWith(name, "python") || StartsWith(name, "libpython");
}

bool IsDeviceFile(const char* path) { return path != nullptr && std::strcmp(path, "/dev/nvidiactl") == 0; }

}  // namespace tutti::keep_ptx
