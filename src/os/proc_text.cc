#include "os/proc_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "os/fd.h"

namespace tutti::os {

std::string TextOf(const std::string& path, size_t most_bytes) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return "";
  std::string text;
  char piece[4096];
  while (text.size() < most_bytes) {
    const ssize_t got = read(file.get(), piece, std::min(sizeof piece, most_bytes - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece, static_cast<size_t>(got));
  }
  return text;
}

std::string_view Cut(std::string_view& text, char end) {
  const std::string_view piece = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), piece.size() + 1));
  return piece;
}

bool CgroupLine::Names(std::string_view controller) const {
  for (std::string_view rest = controllers; !rest.empty();) {
    if (Cut(rest, ',') == controller) return true;
  }
  return false;
}

std::vector<CgroupLine> CgroupLines(std::string_view text) {
  std::vector<CgroupLine> lines;
  while (!text.empty()) {
    const std::string_view line = Cut(text, '\n');
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second != line.npos) lines.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return lines;
}

}  // namespace tutti::os
