// What servers say in JSON, one object per line. A server runs as its user, who may make it say anything: so lines are
// read here, and nothing in them can end the daemon.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace tutti::daemon::commands {

// The objects of `text`, in their order, names as they came. Left out is what is no object and whatever lies deeper
// than a record of ours does: copying and writing JSON takes a level of the stack for each of its levels. Of a text
// that is longer than those of ours, the last part is read: of faults, the latest.
std::vector<nlohmann::ordered_json> ReadServerLines(std::string_view text);

}  // namespace tutti::daemon::commands
