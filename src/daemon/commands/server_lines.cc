#include "daemon/commands/server_lines.h"

#include <algorithm>
#include <utility>

namespace tutti::daemon::commands {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostLevels = 8;  // ours have three

}  // namespace

std::vector<Json> ReadServerLines(std::string_view text) {
  const auto shallow = [](int depth, Json::parse_event_t, const Json&) { return depth < kMostLevels; };
  std::vector<Json> objects;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    Json object = Json::parse(text.substr(0, end), shallow, /*allow_exceptions=*/false);
    if (object.is_object()) objects.push_back(std::move(object));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return objects;
}

}  // namespace tutti::daemon::commands
