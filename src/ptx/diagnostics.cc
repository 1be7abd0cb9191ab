#include "ptx/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti::ptx {
namespace {

constexpr size_t kShownColumns = 110;

}  // namespace

std::string_view DiagnosticPrinter::LineAt(uint32_t line) {
  if (line < line_) {
    line_ = 1;
    offset_ = 0;
  }
  while (line_ < line) {
    const size_t end = text_.find('\n', offset_);
    if (end == std::string_view::npos) return {};
    offset_ = end + 1;
    ++line_;
  }
  return text_.substr(offset_, text_.find('\n', offset_) - offset_);
}

std::string DiagnosticPrinter::Print(const Diagnostic& diagnostic) {
  const auto [line, column] = diagnostic.position;
  std::string out = fmt::format("line {}, column {}: {}", line, column, diagnostic.message);
  if (line == 0 || column == 0) return out;
  const std::string_view whole = LineAt(line);
  const size_t at = std::min<size_t>(column - 1, whole.size());
  const size_t first = at > kShownColumns / 2 && whole.size() > kShownColumns ? at - kShownColumns / 2 : 0;
  std::string shown(whole.substr(first, kShownColumns));
  std::string caret;
  for (size_t i = 0; i < shown.size(); ++i) {
    if (shown[i] == '\t') shown[i] = ' ';
    if (shown[i] == '\r') shown[i] = ' ';
    if (shown[i] < ' ' || shown[i] > '~') shown[i] = '?';
  }
  while (shown.ends_with(' ')) shown.pop_back();
  caret.append(at - first, ' ');
  return fmt::format("{}\n  {}\n  {}^", out, shown, caret);
}

}  // namespace tutti::ptx
