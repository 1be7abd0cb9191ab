#include "cli/format.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "base/printable.h"

namespace tutti::cli {
namespace {

std::string Scaled(double number, double step, const std::vector<const char*>& units) {
  size_t unit = 0;
  while (number >= step && unit + 1 < units.size()) {
    number /= step;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f}{}", number, units[0]) : fmt::format("{:.1f}{}", number, units[unit]);
}

}  // namespace

std::string Bytes(uint64_t bytes) {
  return Scaled(static_cast<double>(bytes), 1024, {" B", " KiB", " MiB", " GiB", " TiB"});
}
std::string Count(double number) { return Scaled(number, 1000, {"", "k", "M", "G"}); }
std::string Percent(double fraction) { return fmt::format("{:.1f}%", fraction * 100); }

std::string Plural(size_t number, const std::string& noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string CommandName(const std::string& command) {
  const size_t slash = command.substr(0, command.find(' ')).rfind('/');
  return slash == std::string::npos ? command : command.substr(slash + 1);
}

std::string UserName(uint32_t uid) {
  const passwd* const entry = getpwuid(uid);
  return entry != nullptr ? entry->pw_name : std::to_string(uid);
}

std::string Shortened(std::string text, size_t width) {
  text = Printable(text);
  if (text.size() > width && width > 3) text = text.substr(0, width - 3) + "...";
  return text;
}

std::string Table(const std::vector<std::vector<std::string>>& cells, const std::vector<size_t>& right) {
  std::vector<std::vector<std::string>> rows = cells;
  for (auto& row : rows)
    std::ranges::transform(row, row.begin(), [](const std::string& cell) { return Printable(cell); });
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const bool to_right = std::ranges::find(right, i) != right.end();
      line += to_right ? fmt::format("{:>{}}  ", row[i], widths[i]) : fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

size_t TerminalWidth() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) return size.ws_col;
  return 120;
}

}  // namespace tutti::cli
