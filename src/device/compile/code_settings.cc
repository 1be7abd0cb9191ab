#include "device/compile/code_settings.h"

#include <algorithm>
#include <charconv>
#include <thread>

#include "os/program.h"
#include "os/user_cache.h"

namespace tutti::device {

namespace {

CodeSettings SettingsFor(const char* variable, const char* program) {
  CodeSettings settings;
  settings.cache_folder = os::UserCacheFolder();
  settings.compiler = os::Environment(variable);
  if (settings.compiler.empty()) settings.compiler = os::ProgramDirectory() + "/" + program;
  settings.max_compilers = std::max(1u, std::thread::hardware_concurrency());
  const std::string bytes = os::Environment("TUTTI_CACHE_BYTES");
  std::from_chars(bytes.data(), bytes.data() + bytes.size(), settings.cache_bytes);
  const std::string text = os::Environment("TUTTI_COMPILE_SECONDS");
  uint64_t seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (seconds > 0) settings.request_limit_ns = std::min<uint64_t>(seconds, CodeSettings::kMostSeconds) * 1'000'000'000;
  settings.quick_code = os::Environment("TUTTI_QUICK_CODE") != "0";
  return settings;
}

}  // namespace

CodeSettings CodeSettings::FromEnvironment() { return SettingsFor("TUTTI_COMPILER", "tutti-compiler"); }

CodeSettings CodeSettings::OfFences() { return SettingsFor("TUTTI_FENCE", "tutti-fence"); }

}  // namespace tutti::device
