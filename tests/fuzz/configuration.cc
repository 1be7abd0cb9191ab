// Any text as protocol 3's configuration file.
#include "control/configuration.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = tutti::control::ParseConfiguration(text, "fuzz.toml");
  // A refusal names the file and says something.
  if (!read && read.error().text.size() <= std::string_view("fuzz.toml:").size()) __builtin_trap();
  return 0;
}
