#include "os/proc_text.h"

#include <algorithm>
#include <fstream>

namespace tutti::os {

std::string TextOf(const std::string& path, size_t most_bytes) {
  std::ifstream file(path);
  std::string text;
  for (char piece[4096]; text.size() < most_bytes && file;) {
    file.read(piece, static_cast<std::streamsize>(std::min(sizeof piece, most_bytes - text.size())));
    text.append(piece, static_cast<size_t>(file.gcount()));
  }
  return text;
}

bool CgroupLine::Names(std::string_view controller) const {
  for (std::string_view rest = controllers; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(','));
    if (one == controller) return true;
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
  }
  return false;
}

std::vector<CgroupLine> CgroupLines(std::string_view text) {
  std::vector<CgroupLine> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second != line.npos) lines.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return lines;
}

}  // namespace tutti::os
