// One token of PTX text.
#pragma once

#include <cstdint>
#include <string_view>

#include "ptx/ast.h"

namespace tutti::ptx {

enum class TokenKind : uint8_t {
  kEnd,
  kWord,     // add, %r1, $L__BB0_2, _Z3foov
  kDotWord,  // .global, .eq, .2d, .L2::128B; `text` without the dot
  kInteger,  // `value`
  kFloat,    // `value` holds the bits: of an f32 if is_f32, else of an f64
  kString,   // `text` without the quotes
  kPunct,    // one character, in `punct`
  kInvalid,  // `text` says what is wrong
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  char punct = 0;
  bool is_f32 = false;
  bool is_unsigned = false;  // kInteger with the suffix U
  SourcePosition position;
  std::string_view text;
  uint64_t value = 0;
  size_t offset = 0;  // of the first byte in the module's text

  bool Is(char c) const { return kind == TokenKind::kPunct && punct == c; }
  bool IsDot(std::string_view word) const { return kind == TokenKind::kDotWord && text == word; }
};

}  // namespace tutti::ptx
