// Any bytes from the compiler process or the code cache: a hostile PTX may have taken the compiler over.
#include "guest/compile_protocol.h"
#include "guest/module_index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  (void)tutti::guest::ParseModuleIndex(bytes);
  (void)tutti::guest::ParseCompileRequest(bytes);
  (void)tutti::guest::ParseCompileReply(bytes);
  return 0;
}
