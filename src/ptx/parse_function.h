// The header of a .entry or .func; its body is noted and parsed later, when all symbols of the module are known.
#pragma once

#include <string_view>
#include <vector>

#include "ptx/parse_context.h"
#include "ptx/token_stream.h"

namespace tutti::ptx {

// Where the body of Module::functions[i] is; in the order of that list.
struct PendingBody {
  bool exists = false;
  LexerState start;                           // behind the opening brace
  std::vector<std::string_view> local_names;  // of returns, then parameters: ParameterList::names
};

// Stands behind ".entry" or ".func".
bool ParseFunctionHeader(ParseContext& context, TokenStream& tokens, bool is_entry, Linkage linkage,
                         std::vector<PendingBody>* bodies);

}  // namespace tutti::ptx
