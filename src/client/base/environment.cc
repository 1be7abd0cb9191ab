#include "client/base/environment.h"

#include <sys/auxv.h>

#include <cstdlib>

namespace tutti::client {
namespace {

constexpr size_t kMostBytes = 4096;

}  // namespace

std::string Environment(const char* name) {
  const char* const value = secure_getenv(name);
  return value != nullptr ? std::string(value).substr(0, kMostBytes) : std::string();
}

bool IsSet(const char* name) { return secure_getenv(name) != nullptr; }

bool EnvironmentIsTrusted() { return getauxval(AT_SECURE) == 0; }

}  // namespace tutti::client
