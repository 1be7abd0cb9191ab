// Parses the JSON that servers send, one object per line. It is untrusted: a server runs as its user, who may make it
// send anything, and nothing in it may end the daemon.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace tutti::daemon::commands {

// The objects of `text`, in order, names unchanged. Skips what is no object, and whatever is nested deeper than our
// records: copying and printing JSON recurses once per level. If `text` is longer than a correct server's, only its end
// is read, which has the latest faults.
std::vector<nlohmann::ordered_json> ReadServerLines(std::string_view text);

}  // namespace tutti::daemon::commands
