// Initial values of module variables: numbers, addresses, nested braces.
#pragma once

#include <vector>

#include "ptx/parse_declaration.h"

namespace tutti::ptx {

// Stands behind the '='. An open first dimension (0) is set to what the values need.
bool ParseInitializer(ParseContext& context, TokenStream& tokens, const DeclaredShape& shape,
                      std::vector<uint64_t>* dimensions, Initializer* init);

}  // namespace tutti::ptx
