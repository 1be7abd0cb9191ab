// Any text as PTX. What parses is printed and parsed again.
#include "ptx/parser.h"
#include "ptx/printer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto module = tutti::ptx::Parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (module && tutti::ptx::FunctionErrors(*module).empty() && !tutti::ptx::Parse(tutti::ptx::Print(*module)))
    __builtin_trap();
  return 0;
}
