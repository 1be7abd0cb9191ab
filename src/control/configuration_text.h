// What of a configuration file is handed to the TOML reader. It trusts its own tables and assertions more than a file
// from outside allows: a blank beyond ASCII takes it to code that it calls unreachable, and names nested a hundred
// thousand deep overflow the stack when the tree is destroyed. Nothing that means something in this file is beyond
// ASCII, so here every other byte becomes '?': in a comment nobody minds, anywhere else the line is refused for it.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace tutti::control {

// The text, line by line as long as it was. Fails if it is too long or nests too deep; `source` names the file.
Result<std::string> ConfigurationText(std::string_view text, const std::string& source);

}  // namespace tutti::control
