// Any bytes from the compiler process or the code cache: a hostile PTX may have taken over the compiler.
#include "compiler/protocol/compile_protocol.h"
#include "module/module_index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  (void)tutti::module::ParseModuleIndex(bytes);
  (void)tutti::compiler::ParseCompileRequest(bytes);
  (void)tutti::compiler::ParseCompileReply(bytes);
  return 0;
}
