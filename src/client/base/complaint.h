// The caller's mistakes, said once in words: the program gets CUDA's error number, which seldom says which of a dozen
// things was wrong; the log gets the thing and its value. Only so many lines per process: a program may make the same
// mistake for ever. Thread-safe.
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
