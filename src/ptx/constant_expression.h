// Constants in PTX: literals, WARP_SZ, and C-like expressions ("-4", "1<<3", "(2+1)*8", "1 ? 2 : 3", "0.5*3.0").
#pragma once

#include <optional>

#include "ptx/parse_context.h"
#include "ptx/token_stream.h"

namespace tutti::ptx {

struct Constant {
  bool is_float = false;
  bool is_f32 = false;  // with is_float: `bits` are those of an f32
  bool is_unsigned = false;
  uint64_t bits = 0;
};

// `token` can begin a constant.
bool StartsConstant(const Token& token);
// Nothing, with the error in the context, if there is none.
std::optional<Constant> ParseConstant(ParseContext& context, TokenStream& tokens);
// As ParseConstant, for an integer that must lie in [0, limit].
std::optional<uint64_t> ParseCount(ParseContext& context, TokenStream& tokens, uint64_t limit, std::string_view what);

}  // namespace tutti::ptx
