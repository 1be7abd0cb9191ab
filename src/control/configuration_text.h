// Sanitises a configuration file for the TOML parser, which is not safe on hostile input: non-ASCII white space reaches
// code it declares unreachable, and names nested a hundred thousand deep overflow the stack when the tree is destroyed.
// Nothing significant in this file is beyond ASCII, so every other byte becomes '?', which is harmless in a comment and
// makes any other line invalid.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace tutti::control {

// The sanitised text; lines keep their length. Fails if it is too long or nests too deep; `source` names the file.
Result<std::string> ConfigurationText(std::string_view text, const std::string& source);

}  // namespace tutti::control
