#include "ptx/parse_declaration.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/checked.h"
#include "ptx/constant_expression.h"
#include "ptx/parse_initializer.h"

namespace tutti::ptx {
namespace {

constexpr uint64_t kMaxAlignment = 1u << 20;
constexpr uint64_t kMaxVariableBytes = 1ull << 46;
constexpr size_t kMaxDimensions = 16;
constexpr size_t kMaxParameters = 8192;

std::optional<uint32_t> ParseAlignment(ParseContext& context, TokenStream& tokens) {
  const SourcePosition position = tokens.current().position;
  const auto value = ParseCount(context, tokens, kMaxAlignment, "an alignment");
  if (!value) return std::nullopt;
  if (!std::has_single_bit(*value)) {
    context.Fail(position, "an alignment must be a power of two");
    return std::nullopt;
  }
  return static_cast<uint32_t>(*value);
}

// "(.managed)" or "(.unified(1, 2))", of which only the first has an effect here.
bool ParseAttributes(ParseContext& context, TokenStream& tokens, DeclaredShape* shape) {
  if (!Expect(context, tokens, '(', "after .attribute")) return false;
  for (size_t depth = 1; depth > 0; tokens.Advance()) {
    const Token& token = tokens.current();
    if (token.IsDot("managed")) shape->managed = true;
    if (token.Is('(')) ++depth;
    if (token.Is(')')) --depth;
    if (token.kind == TokenKind::kEnd || token.kind == TokenKind::kInvalid || token.Is(';'))
      return context.Expected(token, "')'");
  }
  return true;
}

// A pointer parameter says where it points: ".ptr .global .align 4".
bool ParsePointee(ParseContext& context, TokenStream& tokens) {
  while (tokens.current().kind == TokenKind::kDotWord) {
    if (tokens.AcceptDot("align")) {
      if (!ParseAlignment(context, tokens)) return false;
    } else if (StateSpaceFromName(tokens.current().text)) {
      tokens.Advance();
    } else {
      break;
    }
  }
  return true;
}

// A parameter in a register; one in a vector register is a parameter for each of its components.
bool AddRegisters(ParseContext& context, const Token& name, const DeclaredShape& shape, ParameterList* list) {
  constexpr uint32_t kMaxBits = 128;
  if (BitsOf(shape.type) == 0) return context.Fail(name.position, "a register holds no values of this type");
  if (shape.vector > 4) return context.Fail(name.position, "a vector register has at most 4 components");
  if (shape.vector != 1 && shape.vector * BitsOf(shape.type) > kMaxBits)
    return context.Fail(name.position, fmt::format("a vector register has at most {} bits", kMaxBits));
  for (uint32_t i = 0; i < shape.vector; ++i) {
    LocalVariable variable;
    variable.name = shape.vector == 1 ? std::string(name.text) : fmt::format("{}_{}", name.text, "xyzw"[i]);
    variable.space = StateSpace::kReg;
    variable.type = shape.type;
    variable.alignment = std::max(BitsOf(shape.type) / 8, 1u);
    list->variables.push_back(std::move(variable));
    list->names.push_back(i == 0 ? name.text : std::string_view());
  }
  return true;
}

Linkage CombinedLinkage(Linkage a, Linkage b) { return b == Linkage::kExtern || b == Linkage::kNone ? a : b; }

// A variable may be declared extern and defined later; two definitions are an error.
bool AddVariable(ParseContext& context, std::string_view name, Variable variable) {
  const auto known = context.FindSymbol(name);
  if (!known) {
    context.AddSymbol(name, Symbol::Kind::kVariable, static_cast<uint32_t>(context.module().variables.size()));
    context.module().variables.push_back(std::move(variable));
    return true;
  }
  const Symbol& symbol = context.module().symbols[*known];
  if (symbol.kind != Symbol::Kind::kVariable) {
    return context.Fail(variable.position, fmt::format("'{}' is a function already", name));
  }
  Variable& before = context.module().variables[symbol.index];
  if (before.linkage != Linkage::kExtern && variable.linkage != Linkage::kExtern) {
    return context.Fail(variable.position, fmt::format("'{}' is defined a second time", name));
  }
  if (before.linkage == Linkage::kExtern) {
    variable.linkage = CombinedLinkage(variable.linkage, before.linkage);
    before = std::move(variable);
  }
  return true;
}

}  // namespace

bool Expect(ParseContext& context, TokenStream& tokens, char c, std::string_view what) {
  return tokens.Accept(c) || context.Expected(tokens.current(), fmt::format("'{}' {}", c, what));
}

std::optional<Token> ParseName(ParseContext& context, TokenStream& tokens, std::string_view what) {
  if (tokens.current().kind == TokenKind::kWord) return tokens.Take();
  context.Expected(tokens.current(), what);
  return std::nullopt;
}

bool ParseShape(ParseContext& context, TokenStream& tokens, DeclaredShape* shape) {
  while (tokens.current().kind == TokenKind::kDotWord) {
    const Token word = tokens.Take();
    if (word.text == "align") {
      const auto alignment = ParseAlignment(context, tokens);
      if (!alignment) return false;
      shape->alignment = *alignment;
    } else if (word.text == "v2" || word.text == "v4" || word.text == "v8") {
      shape->vector = static_cast<uint32_t>(word.text[1] - '0');
    } else if (word.text == "attribute") {
      if (!ParseAttributes(context, tokens, shape)) return false;
    } else if (word.text == "ptr") {
      if (!ParsePointee(context, tokens)) return false;
    } else if (const auto type = TypeFromName(word.text)) {
      if (shape->type != Type::kNone) return context.Fail(word.position, "a second type");
      shape->type = *type;
    } else {
      return context.Fail(word.position, fmt::format("'.{}' is not known in a declaration", word.text));
    }
  }
  if (shape->type == Type::kNone) return context.Expected(tokens.current(), "a type");
  return true;
}

bool ParseDimensions(ParseContext& context, TokenStream& tokens, std::vector<uint64_t>* dimensions) {
  while (tokens.At('[')) {
    const SourcePosition position = tokens.Take().position;
    if (dimensions->size() == kMaxDimensions) return context.Fail(position, "too many dimensions");
    uint64_t extent = 0;
    if (!tokens.At(']')) {
      const auto count = ParseCount(context, tokens, kMaxVariableBytes, "the extent of an array");
      if (!count) return false;
      extent = *count;
    } else if (!dimensions->empty()) {
      return context.Fail(position, "only the first dimension may be left open");
    }
    if (!Expect(context, tokens, ']', "after the extent of an array")) return false;
    dimensions->push_back(extent);
  }
  return true;
}

std::optional<Extent> ExtentOf(ParseContext& context, SourcePosition position, const DeclaredShape& shape,
                               const std::vector<uint64_t>& dimensions) {
  const uint64_t element_bytes = (BitsOf(shape.type) + 7ull) / 8 * shape.vector;
  std::optional<uint64_t> count = 1;
  for (const uint64_t extent : dimensions) count = count ? CheckedMul(*count, extent) : count;
  const auto bytes = count ? CheckedMul(*count, element_bytes) : std::nullopt;
  if (!bytes || *bytes > kMaxVariableBytes) {
    context.Fail(position, "this array is too large");
    return std::nullopt;
  }
  const auto natural = static_cast<uint32_t>(std::bit_ceil(std::max<uint64_t>(element_bytes, 1)));
  return Extent{*count, shape.alignment != 0 ? shape.alignment : natural};
}

bool ParseParameters(ParseContext& context, TokenStream& tokens, bool allow_unnamed, ParameterList* list) {
  if (!Expect(context, tokens, '(', "before parameters")) return false;
  if (tokens.Accept(')')) return true;
  do {
    const Token first = tokens.current();
    if (first.Is('.') || list->names.size() == kMaxParameters) {
      return context.Fail(first.position,
                          first.Is('.') ? "variable argument lists are not supported" : "too many parameters");
    }
    LocalVariable variable;
    variable.space = StateSpace::kParam;
    if (tokens.AcceptDot("reg")) {
      variable.space = StateSpace::kReg;
    } else if (!tokens.AcceptDot("param")) {
      return context.Expected(first, "'.param'");
    }
    DeclaredShape shape;
    if (!ParseShape(context, tokens, &shape)) return false;
    const auto name = ParseName(context, tokens, "the name of a parameter");
    if (!name) return false;
    if (name->text == "_" && !allow_unnamed) return context.Fail(name->position, "this parameter needs a name");
    if (variable.space == StateSpace::kReg) {
      if (!AddRegisters(context, *name, shape, list)) return false;
      continue;
    }
    std::vector<uint64_t> dimensions;
    if (!ParseDimensions(context, tokens, &dimensions)) return false;
    const auto extent = ExtentOf(context, name->position, shape, dimensions);
    if (!extent) return false;
    variable.name = name->text;
    variable.type = shape.type;
    variable.vector = shape.vector;
    variable.count = extent->count;
    variable.alignment = extent->alignment;
    list->variables.push_back(std::move(variable));
    list->names.push_back(name->text);
  } while (tokens.Accept(','));
  return Expect(context, tokens, ')', "after parameters");
}

bool ParseModuleVariables(ParseContext& context, TokenStream& tokens, StateSpace space, Linkage linkage) {
  DeclaredShape shape;
  if (!ParseShape(context, tokens, &shape)) return false;
  do {
    const auto name = ParseName(context, tokens, "the name of a variable");
    if (!name) return false;
    std::vector<uint64_t> dimensions;
    if (!ParseDimensions(context, tokens, &dimensions)) return false;
    Variable variable;
    variable.name = name->text;
    variable.space = space;
    variable.linkage = linkage;
    variable.type = shape.type;
    variable.vector = shape.vector;
    variable.managed = shape.managed;
    variable.position = name->position;
    if (tokens.Accept('=') && !ParseInitializer(context, tokens, shape, &dimensions, &variable.init)) return false;
    const auto extent = ExtentOf(context, name->position, shape, dimensions);
    if (!extent) return false;
    variable.count = extent->count;
    variable.alignment = extent->alignment;
    if (!AddVariable(context, name->text, std::move(variable))) return false;
  } while (tokens.Accept(','));
  return Expect(context, tokens, ';', "after a variable");
}

}  // namespace tutti::ptx
