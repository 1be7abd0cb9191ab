#include "daemon/commands/server_lines.h"

#include <algorithm>
#include <utility>

namespace tutti::daemon::commands {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostLevels = 8;  // ours have three
// The daemon's only thread parses them, so this bounds the time for one server to milliseconds: 16 MiB of "{}" took
// three seconds. Correct servers send at most 256 KiB of running kernels, and mostly less of faults.
constexpr size_t kMostBytes = 512 << 10;
constexpr size_t kMostObjects = 4096;

}  // namespace

std::vector<Json> ReadServerLines(std::string_view text) {
  const auto shallow = [](int depth, Json::parse_event_t, const Json&) { return depth < kMostLevels; };
  if (text.size() > kMostBytes) {
    text.remove_prefix(text.size() - kMostBytes);
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  std::vector<Json> objects;
  while (!text.empty() && objects.size() < kMostObjects) {
    const size_t end = std::min(text.find('\n'), text.size());
    Json object = Json::parse(text.substr(0, end), shallow, /*allow_exceptions=*/false);
    if (object.is_object()) objects.push_back(std::move(object));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return objects;
}

}  // namespace tutti::daemon::commands
