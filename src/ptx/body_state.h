// What the parts of the body parser share.
#pragma once

#include <cstdint>
#include <map>

#include "ptx/ast.h"
#include "ptx/name_scope.h"
#include "ptx/parse_context.h"
#include "ptx/token_stream.h"

namespace tutti::ptx {

struct BodyState {
  ParseContext& context;
  TokenStream& tokens;
  Function& function;
  NameScopes& scopes;
  std::map<uint32_t, uint32_t>& prototypes;  // of functions that are called by tables: index in Function::prototypes
  uint32_t source_line = 0;  // of the last .loc
  uint32_t source_file = 0;
};

}  // namespace tutti::ptx
