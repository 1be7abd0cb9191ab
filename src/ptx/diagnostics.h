// Diagnostics of PTX text for people: message, position, the line and a caret under the place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptx/ast.h"

namespace tutti::ptx {

struct Diagnostic {
  SourcePosition position;
  std::string message;
};

// "line 3, column 9: message", the line of the text, and a caret. Long lines are cut around the place; characters that
// do not print become '?'. No trailing newline.
class DiagnosticPrinter {
 public:
  explicit DiagnosticPrinter(std::string_view text) : text_(text) {}
  std::string Print(const Diagnostic& diagnostic);

 private:
  std::string_view LineAt(uint32_t line);

  std::string_view text_;
  uint32_t line_ = 1;  // the last line looked up and where it starts: a run of diagnostics in order costs one scan
  size_t offset_ = 0;
};

}  // namespace tutti::ptx
