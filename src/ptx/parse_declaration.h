// The pieces that declarations of variables and parameters are made of.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ptx/parse_context.h"
#include "ptx/token_stream.h"

namespace tutti::ptx {

// What stands between the state space and the name: ".align 8 .v2 .f32", in any order.
struct DeclaredShape {
  Type type = Type::kNone;
  uint32_t vector = 1;
  uint32_t alignment = 0;  // 0: not given
  bool managed = false;
};
bool ParseShape(ParseContext& context, TokenStream& tokens, DeclaredShape* shape);

// "[2][3]", or nothing. An empty first dimension is 0.
bool ParseDimensions(ParseContext& context, TokenStream& tokens, std::vector<uint64_t>* dimensions);

struct Extent {
  uint64_t count;  // elements; 0: unsized
  uint32_t alignment;
};
// Refuses sizes that do not fit.
std::optional<Extent> ExtentOf(ParseContext& context, SourcePosition position, const DeclaredShape& shape,
                               const std::vector<uint64_t>& dimensions);

// The word that is being declared.
std::optional<Token> ParseName(ParseContext& context, TokenStream& tokens, std::string_view what);
bool Expect(ParseContext& context, TokenStream& tokens, char c, std::string_view what);

// One or more variables of `space` at module scope, up to and with the semicolon; stands behind the state space.
bool ParseModuleVariables(ParseContext& context, TokenStream& tokens, StateSpace space, Linkage linkage);

// "(.param .b32 a, .param .align 8 .b8 b[16])" with `allow_unnamed` also "_" for the names. Stands at the parenthesis.
struct ParameterList {
  std::vector<LocalVariable> variables;
  std::vector<std::string_view> names;  // as written; empty: a further component of the register before
};
bool ParseParameters(ParseContext& context, TokenStream& tokens, bool allow_unnamed, ParameterList* list);

}  // namespace tutti::ptx
