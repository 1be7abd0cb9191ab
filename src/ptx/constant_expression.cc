// Precedence climbing over C's integer operators, all arithmetic modulo 2^64, division and comparison signed unless an
// operand is unsigned (suffix U, or a literal above the signed range), as the ISA has it. Floats: literals and their
// negation only; nobody writes more.
#include "ptx/constant_expression.h"

#include <fmt/format.h>

#include <limits>

namespace tutti::ptx {
namespace {

constexpr int kMaxDepth = 64;

struct BinaryOperator {
  char first;
  char second;  // 0: one character
  int precedence;
};

// Two-character operators first.
constexpr BinaryOperator kOperators[] = {
    {'|', '|', 1}, {'&', '&', 2}, {'=', '=', 6}, {'!', '=', 6}, {'<', '=', 7}, {'>', '=', 7},
    {'<', '<', 8}, {'>', '>', 8}, {'|', 0, 3},   {'^', 0, 4},   {'&', 0, 5},   {'<', 0, 7},
    {'>', 0, 7},   {'+', 0, 9},   {'-', 0, 9},   {'*', 0, 10},  {'/', 0, 10},  {'%', 0, 10},
};

class ExpressionParser {
 public:
  ExpressionParser(ParseContext& context, TokenStream& tokens) : context_(context), tokens_(tokens) {}

  std::optional<Constant> Binary(int least_precedence, int depth) {
    auto left = Unary(depth);
    while (left) {
      const Token at = tokens_.current();
      const BinaryOperator* op = OperatorAt();
      if (op == nullptr || op->precedence < least_precedence) break;
      tokens_.Advance();
      if (op->second != 0) tokens_.Advance();
      const auto right = Binary(op->precedence + 1, depth);
      if (!right) return std::nullopt;
      left = Apply(*op, *left, *right, at);
    }
    return left;
  }

 private:
  const BinaryOperator* OperatorAt() const {
    if (tokens_.current().kind != TokenKind::kPunct) return nullptr;
    for (const BinaryOperator& op : kOperators) {
      if (!tokens_.current().Is(op.first)) continue;
      if (op.second == 0) return &op;
      if (tokens_.next().Is(op.second) && tokens_.next().offset == tokens_.current().offset + 1) return &op;
    }
    return nullptr;
  }

  std::optional<Constant> Unary(int depth) {
    const Token token = tokens_.current();
    if (depth > kMaxDepth) {
      context_.Fail(token.position, "this expression is nested too deeply");
      return std::nullopt;
    }
    if (token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat) {
      tokens_.Advance();
      const bool is_float = token.kind == TokenKind::kFloat;
      const bool is_unsigned =
          token.is_unsigned || token.value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
      return Constant{is_float, token.is_f32, !is_float && is_unsigned, token.value};
    }
    if (token.kind == TokenKind::kWord && token.text == "WARP_SZ") {
      tokens_.Advance();
      return Constant{false, false, false, 32};
    }
    if (tokens_.Accept('+')) return Unary(depth + 1);
    if (tokens_.Accept('-')) return Negate(Unary(depth + 1));
    if (tokens_.Accept('~')) return Map(Unary(depth + 1), token, [](uint64_t v) { return ~v; });
    if (tokens_.Accept('!')) return Map(Unary(depth + 1), token, [](uint64_t v) { return uint64_t{v == 0}; });
    if (tokens_.Accept('(')) return Parenthesized(depth + 1);
    context_.Expected(token, "a number");
    return std::nullopt;
  }

  std::optional<Constant> Parenthesized(int depth) {
    if (tokens_.current().kind == TokenKind::kDotWord) {  // a cast: (.s64) or (.u64)
      const bool is_unsigned = tokens_.current().IsDot("u64");
      if (!is_unsigned && !tokens_.current().IsDot("s64")) {
        context_.Expected(tokens_.current(), ".s64 or .u64");
        return std::nullopt;
      }
      tokens_.Advance();
      if (!Close()) return std::nullopt;
      auto value = Unary(depth);
      if (value) value->is_unsigned = is_unsigned;
      return value;
    }
    auto value = Binary(1, depth);
    if (!value || !Close()) return std::nullopt;
    return value;
  }

  bool Close() { return tokens_.Accept(')') || context_.Expected(tokens_.current(), "')'"); }

  static std::optional<Constant> Negate(std::optional<Constant> value) {
    if (!value) return value;
    if (value->is_float) {
      value->bits ^= value->is_f32 ? 1ull << 31 : 1ull << 63;
    } else {
      value->bits = 0 - value->bits;
    }
    return value;
  }

  template <typename F>
  std::optional<Constant> Map(std::optional<Constant> value, const Token& at, F function) {
    if (value && value->is_float) {
      context_.Fail(at.position, "this operator takes integers");
      return std::nullopt;
    }
    if (value) value->bits = function(value->bits);
    return value;
  }

  std::optional<Constant> Apply(const BinaryOperator& op, const Constant& a, const Constant& b, const Token& at) {
    if (a.is_float || b.is_float) {
      context_.Fail(at.position, "this operator takes integers");
      return std::nullopt;
    }
    const bool is_unsigned = a.is_unsigned || b.is_unsigned;
    if ((op.first == '/' || op.first == '%') && b.bits == 0) {
      context_.Fail(at.position, "division by zero");
      return std::nullopt;
    }
    return Constant{false, false, is_unsigned, Compute(op, a.bits, b.bits, is_unsigned)};
  }

  static uint64_t Compute(const BinaryOperator& op, uint64_t a, uint64_t b, bool is_unsigned) {
    const auto sa = static_cast<int64_t>(a);
    const auto sb = static_cast<int64_t>(b);
    if (op.second == '=') {
      if (op.first == '=') return a == b;
      if (op.first == '!') return a != b;
      if (op.first == '<') return is_unsigned ? a <= b : sa <= sb;
      return is_unsigned ? a >= b : sa >= sb;
    }
    if (op.second != 0 && op.first == '|') return a != 0 || b != 0;
    if (op.second != 0 && op.first == '&') return a != 0 && b != 0;
    if (op.second != 0 && op.first == '<') return b > 63 ? 0 : a << b;
    if (op.second != 0) return is_unsigned ? (b > 63 ? 0 : a >> b) : static_cast<uint64_t>(sa >> (b > 63 ? 63 : b));
    switch (op.first) {
      case '|':
        return a | b;
      case '^':
        return a ^ b;
      case '&':
        return a & b;
      case '<':
        return is_unsigned ? a < b : sa < sb;
      case '>':
        return is_unsigned ? a > b : sa > sb;
      case '+':
        return a + b;
      case '-':
        return a - b;
      case '*':
        return a * b;
      case '/':
        return is_unsigned ? a / b : (sb == -1 ? 0 - a : static_cast<uint64_t>(sa / sb));
      default:
        return is_unsigned ? a % b : (sb == -1 ? 0 : static_cast<uint64_t>(sa % sb));
    }
  }

  ParseContext& context_;
  TokenStream& tokens_;
};

}  // namespace

bool StartsConstant(const Token& token) {
  return token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat || token.Is('-') || token.Is('+') ||
         token.Is('~') || token.Is('(') || (token.kind == TokenKind::kWord && token.text == "WARP_SZ");
}

std::optional<Constant> ParseConstant(ParseContext& context, TokenStream& tokens) {
  return ExpressionParser(context, tokens).Binary(1, 0);
}

std::optional<uint64_t> ParseCount(ParseContext& context, TokenStream& tokens, uint64_t limit, std::string_view what) {
  const SourcePosition position = tokens.current().position;
  const auto value = ParseConstant(context, tokens);
  if (!value) return std::nullopt;
  if (value->is_float || value->bits > limit) {
    context.Fail(position, fmt::format("{} must be a number from 0 to {}", what, limit));
    return std::nullopt;
  }
  return value->bits;
}

}  // namespace tutti::ptx
