// Errors as values.
//
// Every fallible function of the project returns Result<T>. Nothing throws across our code or the C ABI.
//
// `code` is the number of the CUresult (cuda/result.h) that a client gets if this error reaches it; 0 where no client
// is involved (start-up of a daemon, a tool). `text` is one line for a person: it names the thing, the value and the
// remedy, and carries no trailing newline.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace tutti {

struct Error {
  int code = 0;
  std::string text;
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

inline std::unexpected<Error> Fail(std::string text) { return std::unexpected(Error{0, std::move(text)}); }
inline std::unexpected<Error> Fail(int code, std::string text) { return std::unexpected(Error{code, std::move(text)}); }

// The error of a failed system call: "<what>: <strerror(errno)>". Call it before errno can change.
std::unexpected<Error> FailErrno(std::string what, int code = 0);

// Evaluates to the value, or returns the error from the enclosing function.
#define TUTTI_CONCAT_INNER(a, b) a##b
#define TUTTI_CONCAT(a, b) TUTTI_CONCAT_INNER(a, b)
#define TUTTI_ASSIGN_IMPL(result, declaration, expression)        \
  auto result = (expression);                                     \
  if (!result) return std::unexpected(std::move(result).error()); \
  declaration = std::move(*result)
#define TUTTI_ASSIGN(declaration, expression) \
  TUTTI_ASSIGN_IMPL(TUTTI_CONCAT(result_, __LINE__), declaration, expression)
#define TUTTI_TRY(expression)                                                                      \
  do {                                                                                             \
    if (auto result_ = (expression); !result_) return std::unexpected(std::move(result_).error()); \
  } while (0)

}  // namespace tutti
