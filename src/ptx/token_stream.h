// The tokens of a text with one token of look-ahead.
#pragma once

#include "ptx/lexer.h"

namespace tutti::ptx {

class TokenStream {
 public:
  explicit TokenStream(std::string_view text, LexerState state = {}) : lexer_(text, state) { Refill(); }

  const Token& current() const { return current_; }
  const Token& next() const { return next_; }
  Token Take() {
    Token taken = current_;
    Advance();
    return taken;
  }
  void Advance() {
    current_ = next_;
    after_current_ = lexer_.state();
    next_ = lexer_.Next();
  }
  bool At(char c) const { return current_.Is(c); }
  bool Accept(char c) {
    if (!current_.Is(c)) return false;
    Advance();
    return true;
  }
  bool AcceptDot(std::string_view word) {
    if (!current_.IsDot(word)) return false;
    Advance();
    return true;
  }
  // The current token is an opening brace: where its contents start; for a stream of their own.
  LexerState StateAfterCurrent() const { return after_current_; }
  // The current token is an opening brace: goes to behind the matching one. False if there is none.
  bool SkipBraces() {
    lexer_ = Lexer(lexer_.text(), after_current_);
    if (!lexer_.SkipBraces()) return false;
    Refill();
    return true;
  }

 private:
  void Refill() {
    current_ = lexer_.Next();
    after_current_ = lexer_.state();
    next_ = lexer_.Next();
  }

  Lexer lexer_;
  Token current_;
  LexerState after_current_;
  Token next_;
};

}  // namespace tutti::ptx
