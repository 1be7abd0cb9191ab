// Precedence climbing over C's operators with PTX's typing: integers are of 64 bits, signed unless a literal is above
// the signed range or has the suffix U, floats are f64, and the two do not mix. An integer operation is unsigned if an
// operand is; comparisons, !, && and || give signed results, ~ an unsigned one, shifts keep the type of the value
// shifted (by the amount modulo 64), and % is always unsigned. Where the ISA is ambiguous this follows the vendor's
// assembler. The hexadecimal floats 0f... stand alone or behind a minus sign.
#include "ptx/constant_expression.h"

#include <fmt/format.h>

#include <bit>
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

  // a ? b : c, of integers.
  std::optional<Constant> Conditional(int depth) {
    const Token start = tokens_.current();
    auto condition = Binary(1, depth);
    if (!condition || !tokens_.Accept('?')) return condition;
    if (depth > kMaxDepth) return TooDeep(start);
    const auto yes = Conditional(depth + 1);
    if (!yes) return std::nullopt;
    if (!tokens_.Accept(':')) {
      context_.Expected(tokens_.current(), "':'");
      return std::nullopt;
    }
    const auto no = Conditional(depth + 1);
    if (!no) return std::nullopt;
    if (condition->is_float || yes->is_float || no->is_float) {
      context_.Fail(start.position, kNeedsIntegers);
      return std::nullopt;
    }
    return condition->bits != 0 ? yes : no;
  }

 private:
  static constexpr const char* kNeedsIntegers = "this operator takes integers";

  std::optional<Constant> TooDeep(const Token& at) {
    context_.Fail(at.position, "this expression is nested too deeply");
    return std::nullopt;
  }

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
    if (depth > kMaxDepth) return TooDeep(token);
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
    if (tokens_.Accept('~')) return Map(Unary(depth + 1), token, [](uint64_t v) { return Integer(~v, true); });
    if (tokens_.Accept('!')) return Map(Unary(depth + 1), token, [](uint64_t v) { return Integer(v == 0, false); });
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
      return Map(Unary(depth), tokens_.current(), [&](uint64_t v) { return Integer(v, is_unsigned); });
    }
    auto value = Conditional(depth);
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

  static Constant Integer(uint64_t bits, bool is_unsigned) { return {false, false, is_unsigned, bits}; }
  static double AsDouble(const Constant& value) { return std::bit_cast<double>(value.bits); }

  template <typename F>
  std::optional<Constant> Map(std::optional<Constant> value, const Token& at, F function) {
    if (value && value->is_float) {
      context_.Fail(at.position, kNeedsIntegers);
      return std::nullopt;
    }
    if (value) value = function(value->bits);
    return value;
  }

  std::optional<Constant> Apply(const BinaryOperator& op, const Constant& a, const Constant& b, const Token& at) {
    if (a.is_float || b.is_float) return ApplyToFloats(op, a, b, at);
    if ((op.first == '/' || op.first == '%') && b.bits == 0) {
      context_.Fail(at.position, "division by zero");
      return std::nullopt;
    }
    return Compute(op, a, b);
  }

  std::optional<Constant> ApplyToFloats(const BinaryOperator& op, const Constant& a, const Constant& b,
                                        const Token& at) {
    if (a.is_float != b.is_float || a.is_f32 || b.is_f32) {
      context_.Fail(at.position, "the operands are of different kinds");
      return std::nullopt;
    }
    const double x = AsDouble(a), y = AsDouble(b);
    const auto number = [](double value) { return Constant{true, false, false, std::bit_cast<uint64_t>(value)}; };
    if (op.second == '=') {
      if (op.first == '=') return Integer(x == y, false);
      if (op.first == '!') return Integer(x != y, false);
      return Integer(op.first == '<' ? x <= y : x >= y, false);
    }
    if (op.second == 0 && op.first == '<') return Integer(x < y, false);
    if (op.second == 0 && op.first == '>') return Integer(x > y, false);
    if (op.first == '+') return number(x + y);
    if (op.first == '-') return number(x - y);
    if (op.first == '*') return number(x * y);
    if (op.first == '/' && y != 0) return number(x / y);
    context_.Fail(at.position, op.first == '/' ? "division by zero" : kNeedsIntegers);
    return std::nullopt;
  }

  static Constant Compute(const BinaryOperator& op, const Constant& left, const Constant& right) {
    const uint64_t a = left.bits, b = right.bits;
    const bool is_unsigned = left.is_unsigned || right.is_unsigned;
    const auto sa = static_cast<int64_t>(a);
    const auto sb = static_cast<int64_t>(b);
    const auto truth = [](bool value) { return Integer(value, false); };
    const auto same = [&](uint64_t bits) { return Integer(bits, is_unsigned); };
    if (op.second == '=') {
      if (op.first == '=') return truth(a == b);
      if (op.first == '!') return truth(a != b);
      if (op.first == '<') return truth(is_unsigned ? a <= b : sa <= sb);
      return truth(is_unsigned ? a >= b : sa >= sb);
    }
    if (op.second != 0 && op.first == '|') return truth(a != 0 || b != 0);
    if (op.second != 0 && op.first == '&') return truth(a != 0 && b != 0);
    if (op.second != 0 && op.first == '<') return Integer(a << (b % 64), left.is_unsigned);
    if (op.second != 0) {
      return Integer(left.is_unsigned ? a >> (b % 64) : static_cast<uint64_t>(sa >> (b % 64)), left.is_unsigned);
    }
    switch (op.first) {
      case '|': return same(a | b);
      case '^': return same(a ^ b);
      case '&': return same(a & b);
      case '<': return truth(is_unsigned ? a < b : sa < sb);
      case '>': return truth(is_unsigned ? a > b : sa > sb);
      case '+': return same(a + b);
      case '-': return same(a - b);
      case '*': return same(a * b);
      case '/': return same(is_unsigned ? a / b : (sb == -1 ? 0 - a : static_cast<uint64_t>(sa / sb)));
      default: return Integer(a % b, true);
    }
  }

  ParseContext& context_;
  TokenStream& tokens_;
};

}  // namespace

bool StartsConstant(const Token& token) {
  return token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat || token.Is('-') || token.Is('+') ||
         token.Is('~') || token.Is('(') || token.Is('!') || (token.kind == TokenKind::kWord && token.text == "WARP_SZ");
}

std::optional<Constant> ParseConstant(ParseContext& context, TokenStream& tokens) {
  return ExpressionParser(context, tokens).Conditional(0);
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
