#include "ptx/lexer.h"

#include <array>
#include <bit>
#include <charconv>

namespace tutti::ptx {
namespace {

enum CharClass : uint8_t { kOther = 0, kBlank = 1, kWordStart = 2, kWordPart = 4, kDigit = 8 };

constexpr auto kClasses = [] {
  std::array<uint8_t, 256> classes{};
  for (const char c : {' ', '\t', '\r', '\n', '\f', '\v'}) classes[static_cast<uint8_t>(c)] = kBlank;
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = kWordStart | kWordPart;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] = kWordStart | kWordPart;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kWordPart | kDigit;
  for (const char c : {'_', '$'}) classes[static_cast<uint8_t>(c)] = kWordStart | kWordPart;
  classes['%'] = kWordStart;
  return classes;
}();

uint8_t ClassOf(char c) { return kClasses[static_cast<uint8_t>(c)]; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

size_t Lexer::ScanWord(size_t from) const {
  const size_t size = text_.size();
  while (from < size && (ClassOf(text_[from]) & kWordPart) != 0) ++from;
  return from;
}

bool Lexer::SkipComment() {
  if (text_[state_.offset + 1] == '/') {
    const size_t end = text_.find('\n', state_.offset);
    state_.offset = end == std::string_view::npos ? text_.size() : end;
    return true;
  }
  const size_t end = text_.find("*/", state_.offset + 2);
  if (end == std::string_view::npos) return false;
  for (state_.offset += 2; state_.offset < end;) {
    if (text_[state_.offset++] == '\n') NewLine();
  }
  state_.offset = end + 2;
  return true;
}

bool Lexer::SkipBlank() {
  const size_t size = text_.size();
  while (state_.offset < size) {
    const char c = text_[state_.offset];
    if (c == '\n') {
      ++state_.offset;
      NewLine();
    } else if (ClassOf(c) == kBlank) {
      ++state_.offset;
    } else if (c == '/' && (At(state_.offset + 1) == '/' || At(state_.offset + 1) == '*')) {
      if (!SkipComment()) return false;
    } else {
      break;
    }
  }
  return true;
}

bool Lexer::SkipBraces() {
  size_t depth = 1;
  while (state_.offset < text_.size()) {
    const char c = text_[state_.offset];
    if (c == '/' && (At(state_.offset + 1) == '/' || At(state_.offset + 1) == '*')) {
      if (!SkipComment()) return false;
      continue;
    }
    ++state_.offset;
    if (c == '\n') {
      NewLine();
    } else if (c == '"') {
      const size_t end = text_.find_first_of("\"\n", state_.offset);
      if (end == std::string_view::npos) return false;
      state_.offset = text_[end] == '"' ? end + 1 : end;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return true;
    }
  }
  return false;
}

Token Lexer::Finish(Token token, TokenKind kind, size_t end) {
  token.kind = kind;
  token.text = text_.substr(token.offset, end - token.offset);
  state_.offset = end;
  return token;
}

Token Lexer::Invalid(Token token, std::string_view why, size_t end) {
  token.kind = TokenKind::kInvalid;
  token.text = why;
  state_.offset = end;
  return token;
}

Token Lexer::Next() {
  const bool closed = SkipBlank();
  Token token;
  token.offset = state_.offset;
  token.position = {state_.line, static_cast<uint32_t>(state_.offset - state_.line_start + 1)};
  if (!closed) return Invalid(token, "this comment has no end", text_.size());
  if (state_.offset >= text_.size()) return token;

  const char c = text_[state_.offset];
  const uint8_t kind = ClassOf(c);
  if ((kind & kDigit) != 0) return Number(token);
  if (c == '%' && (ClassOf(At(state_.offset + 1)) & kWordPart) == 0) {  // the remainder operator
    token.punct = c;
    return Finish(token, TokenKind::kPunct, state_.offset + 1);
  }
  if ((kind & kWordStart) != 0) return Finish(token, TokenKind::kWord, ScanWord(state_.offset + 1));
  if (c == '.') return StartsFraction() ? DecimalFloat(token) : DotWord(token);
  if (c == '"') return String(token);
  if (c <= ' ' || c > '~') return Invalid(token, "this character is not PTX", state_.offset + 1);
  token.punct = c;
  return Finish(token, TokenKind::kPunct, state_.offset + 1);
}

// ".5", ".5e3", and not ".1d" or ".16x64b".
bool Lexer::StartsFraction() const {
  size_t end = state_.offset + 1;
  while ((ClassOf(At(end)) & kDigit) != 0) ++end;
  if (end == state_.offset + 1) return false;
  if ((At(end) | 0x20) == 'e') {
    ++end;
    if (At(end) == '-' || At(end) == '+') ++end;
    while ((ClassOf(At(end)) & kDigit) != 0) ++end;
  }
  return (ClassOf(At(end)) & kWordPart) == 0;
}

Token Lexer::DotWord(Token token) {
  size_t end = ScanWord(state_.offset + 1);
  if (end == state_.offset + 1) {
    token.punct = '.';
    return Finish(token, TokenKind::kPunct, end);
  }
  while (At(end) == ':' && At(end + 1) == ':' && (ClassOf(At(end + 2)) & kWordPart) != 0) end = ScanWord(end + 2);
  Token finished = Finish(token, TokenKind::kDotWord, end);
  finished.text.remove_prefix(1);
  return finished;
}

Token Lexer::String(Token token) {
  const size_t end = text_.find_first_of("\"\n", state_.offset + 1);
  if (end == std::string_view::npos || text_[end] == '\n') {
    return Invalid(token, "this string has no end", end == std::string_view::npos ? text_.size() : end);
  }
  Token finished = Finish(token, TokenKind::kString, end + 1);
  finished.text = finished.text.substr(1, finished.text.size() - 2);
  return finished;
}

Token Lexer::HexFloat(Token token, size_t digits) {
  uint64_t bits = 0;
  const size_t first = state_.offset + 2;
  for (size_t i = 0; i < digits; ++i) {
    const int digit = HexDigit(At(first + i));
    if (digit < 0) return Invalid(token, "this literal has too few hexadecimal digits", ScanWord(first));
    bits = bits << 4 | static_cast<uint64_t>(digit);
  }
  const size_t end = first + digits;
  if (ScanWord(end) != end) return Invalid(token, "this literal has too many digits", ScanWord(end));
  token.is_f32 = digits == 8;
  token.value = bits;
  return Finish(token, TokenKind::kFloat, end);
}

Token Lexer::DecimalFloat(Token token) {
  const char* first = text_.data() + state_.offset;
  double value = 0;
  const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value);
  const size_t after = static_cast<size_t>(end - text_.data());
  if (error != std::errc()) return Invalid(token, "this number does not fit in an f64", after);
  token.value = std::bit_cast<uint64_t>(value);
  return Finish(token, TokenKind::kFloat, after);
}

Token Lexer::Number(Token token) {
  const size_t start = state_.offset;
  size_t first = start;
  unsigned base = 10;
  if (text_[start] == '0') {
    const char marker = static_cast<char>(At(start + 1) | 0x20);  // lower case
    if (marker == 'f') return HexFloat(token, 8);
    if (marker == 'd') return HexFloat(token, 16);
    if (marker == 'x' || marker == 'b') {
      base = marker == 'x' ? 16 : 2;
      first += 2;
    } else {
      base = 8;
    }
  }
  size_t end = first;
  uint64_t value = 0;
  bool overflow = false;
  bool bad_digit = false;
  for (; end < text_.size(); ++end) {
    const int digit = HexDigit(text_[end]);
    if (digit < 0 || (base != 16 && digit > 9)) break;
    bad_digit = bad_digit || static_cast<unsigned>(digit) >= base;
    overflow = overflow || __builtin_mul_overflow(value, uint64_t{base}, &value);
    overflow = overflow || __builtin_add_overflow(value, static_cast<uint64_t>(digit), &value);
  }
  const char next = At(end);
  const bool exponent =
      (next | 0x20) == 'e' && ((ClassOf(At(end + 1)) & kDigit) != 0 || At(end + 1) == '-' || At(end + 1) == '+');
  if (base != 16 && base != 2 && ((next == '.' && (ClassOf(At(end + 1)) & kDigit) != 0) || exponent))
    return DecimalFloat(token);
  if (base != 16 && base != 2 && next == '.' && ScanWord(end + 1) == end + 1) return DecimalFloat(token);  // "1."
  if (end == first) return Invalid(token, "this number has no digits", ScanWord(end));
  if (bad_digit) return Invalid(token, "this number has a digit that its base has not", ScanWord(end));
  if (overflow) return Invalid(token, "this number does not fit in 64 bits", ScanWord(end));
  token.is_unsigned = next == 'U' || next == 'u';
  if (token.is_unsigned) ++end;
  if (ScanWord(end) != end) return Invalid(token, "letters follow this number", ScanWord(end));
  token.value = value;
  return Finish(token, TokenKind::kInteger, end);
}

}  // namespace tutti::ptx
