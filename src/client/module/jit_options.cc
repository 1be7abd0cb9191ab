#include "client/module/jit_options.h"

#include <algorithm>
#include <cstring>

namespace tutti::client {

void JitOptions::WriteInfo(std::string_view text) const {
  Write(cuda::CU_JIT_INFO_LOG_BUFFER, cuda::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, text);
}

void JitOptions::WriteError(std::string_view text) const {
  Write(cuda::CU_JIT_ERROR_LOG_BUFFER, cuda::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, text);
}

uint32_t JitOptions::MostRegisters() const {
  void** const value = ValueOf(cuda::CU_JIT_MAX_REGISTERS);
  return value != nullptr ? static_cast<uint32_t>(reinterpret_cast<uintptr_t>(*value)) : 0;
}

void** JitOptions::ValueOf(cuda::CUjit_option option) const {
  for (unsigned i = 0; i < count_; ++i) {
    if (options_[i] == option) return &values_[i];
  }
  return nullptr;
}

// Sizes are passed as numbers in the place of a pointer; the low 32 bits count.
void JitOptions::Write(cuda::CUjit_option buffer, cuda::CUjit_option size, std::string_view text) const {
  void** const out = ValueOf(buffer);
  void** const bytes = ValueOf(size);
  if (out == nullptr || *out == nullptr || bytes == nullptr) return;
  const size_t room = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(*bytes));
  if (room == 0) return;
  const size_t length = std::min(text.size(), room - 1);
  auto* const to = static_cast<char*>(*out);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
  *bytes = reinterpret_cast<void*>(static_cast<uintptr_t>(length));
}

}  // namespace tutti::client
