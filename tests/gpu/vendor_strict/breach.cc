#include "vendor_strict/breach.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace tutti::gpu::strict {
namespace {

const int log_file = [] {
  const char* const path = std::getenv("TUTTI_STRICT_LOG");
  return path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}();

}  // namespace

int Breach(const char* rule, int status, const std::string& text) {
  const std::string line = std::string(rule) + ": " + text + "\n";
  if (log_file >= 0) (void)!write(log_file, line.data(), line.size());
  return status;
}

bool Has(const char* mode) {
  const char* const modes = std::getenv("TUTTI_STRICT_MODES");
  return modes != nullptr && (',' + std::string(modes) + ',').find(',' + std::string(mode) + ',') != std::string::npos;
}

std::string Hex(unsigned long long value) {
  char text[32];
  std::snprintf(text, sizeof text, "%#llx", value);
  return text;
}

}  // namespace tutti::gpu::strict
