#include "device/cpu/code/code_settings.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <thread>

namespace tutti::device::cpu {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string HomeFolder() {
  if (std::string home = Variable("HOME"); home.starts_with('/')) return home;
  const passwd* user = getpwuid(geteuid());
  return user != nullptr && user->pw_dir != nullptr ? user->pw_dir : "";
}

std::string DefaultCacheFolder() {
  if (std::string folder = Variable("TUTTI_CACHE_DIR"); !folder.empty()) return folder;
  if (geteuid() == 0) return "/var/cache/tutti";
  if (std::string folder = Variable("XDG_CACHE_HOME"); folder.starts_with('/')) return folder + "/tutti";
  const std::string home = HomeFolder();
  return home.empty() ? "" : home + "/.cache/tutti";
}

std::string CompilerBesideThisProgram() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) return "tutti-compiler";
  std::string program(path, static_cast<size_t>(length));
  return program.substr(0, program.rfind('/') + 1) + "tutti-compiler";
}

}  // namespace

CodeSettings CodeSettings::FromEnvironment() {
  CodeSettings settings;
  settings.cache_folder = DefaultCacheFolder();
  settings.compiler = Variable("TUTTI_COMPILER");
  if (settings.compiler.empty()) settings.compiler = CompilerBesideThisProgram();
  settings.max_compilers = std::max(1u, std::thread::hardware_concurrency());
  const std::string bytes = Variable("TUTTI_CACHE_BYTES");
  std::from_chars(bytes.data(), bytes.data() + bytes.size(), settings.cache_bytes);
  const std::string text = Variable("TUTTI_COMPILE_SECONDS");
  uint64_t seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (seconds > 0) settings.request_limit_ns = std::min<uint64_t>(seconds, 120) * 1'000'000'000;
  return settings;
}

}  // namespace tutti::device::cpu
