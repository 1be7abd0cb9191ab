// Results inside the client: a value, or the CUresult that the driver API call returns. No texts: errors worth
// explaining are logged where they are detected.
#pragma once

#include <expected>
#include <utility>

#include "cuda/result.h"

namespace tutti::client {

template <typename T>
using Answer = std::expected<T, int>;

inline std::unexpected<int> Refuse(int status) { return std::unexpected(status); }

}  // namespace tutti::client

// Returns from the enclosing function (which returns a CUresult) unless the expression is CUDA_SUCCESS.
#define CU_TRY(expression)                                              \
  do {                                                                  \
    if (const int status_ = (expression); status_ != 0) return status_; \
  } while (0)

// The same in functions that return an Answer.
#define CU_TRY_OR_REFUSE(expression)                                                     \
  do {                                                                                   \
    if (const int status_ = (expression); status_ != 0) return std::unexpected(status_); \
  } while (0)

// Declares a variable from an Answer, or returns its status: CU_ASSIGN in functions that return a CUresult,
// CU_ASSIGN_OR_REFUSE in those that return an Answer.
#define CU_CONCAT_INNER(a, b) a##b
#define CU_CONCAT(a, b) CU_CONCAT_INNER(a, b)
#define CU_ASSIGN_IMPL(answer, declaration, expression) \
  auto answer = (expression);                           \
  if (!answer) return answer.error();                   \
  declaration = std::move(*answer)
#define CU_ASSIGN(declaration, expression) CU_ASSIGN_IMPL(CU_CONCAT(answer_, __LINE__), declaration, expression)
#define CU_ASSIGN_OR_REFUSE_IMPL(answer, declaration, expression) \
  auto answer = (expression);                                     \
  if (!answer) return std::unexpected(answer.error());            \
  declaration = std::move(*answer)
#define CU_ASSIGN_OR_REFUSE(declaration, expression) \
  CU_ASSIGN_OR_REFUSE_IMPL(CU_CONCAT(answer_, __LINE__), declaration, expression)
