// PTX text to tokens, on demand, without copying: every token's text points into the input.
#pragma once

#include <string_view>

#include "ptx/token.h"

namespace tutti::ptx {

// A position in the text; a lexer made from it continues there.
struct LexerState {
  size_t offset = 0;
  uint32_t line = 1;
  size_t line_start = 0;
};

class Lexer {
 public:
  // `text` outlives the lexer and its tokens.
  explicit Lexer(std::string_view text, LexerState state = {}) : text_(text), state_(state) {}

  // kEnd forever at the end of the input.
  Token Next();
  // Called behind an opening brace: skips to behind its closing brace. False if there is none. Much faster than lexing.
  bool SkipBraces();
  const LexerState& state() const { return state_; }
  std::string_view text() const { return text_; }

 private:
  bool SkipBlank();  // white space and comments; false: a comment without end
  bool SkipComment();
  void NewLine() {
    ++state_.line;
    state_.line_start = state_.offset;
  }
  char At(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  size_t ScanWord(size_t from) const;
  Token Number(Token token);
  Token HexFloat(Token token, size_t digits);
  Token DecimalFloat(Token token);
  bool StartsFraction() const;
  Token DotWord(Token token);
  Token String(Token token);
  Token Finish(Token token, TokenKind kind, size_t end);
  Token Invalid(Token token, std::string_view why, size_t end);

  std::string_view text_;
  LexerState state_;
};

}  // namespace tutti::ptx
