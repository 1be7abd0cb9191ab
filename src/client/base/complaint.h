// Explains the caller's mistakes in the log. The program gets CUDA's error number, which seldom says which of a dozen
// things was wrong; the log names the thing and its value. The number of lines per process is limited, since a program
// may repeat a mistake for ever. Thread-safe.
#pragma once

#include "base/log.h"

namespace tutti::client {

// Logs "CUDA_ERROR_...: text" and returns `status`.
int Complain(int status, std::string_view text);

template <typename... Args>
[[gnu::cold, gnu::noinline]] int Complain(int status, fmt::format_string<Args...> format, Args&&... args) {
  return Complain(status, std::string_view(fmt::format(format, std::forward<Args>(args)...)));
}

}  // namespace tutti::client
