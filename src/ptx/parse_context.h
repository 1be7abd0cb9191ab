// State that all parts of the parser share: the module under construction, its symbols by name, and the first error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ptx/ast.h"
#include "ptx/diagnostics.h"
#include "ptx/token.h"

namespace tutti::ptx {

class ParseContext {
 public:
  ParseContext(std::string_view text, Module* module);

  Module& module() { return *module_; }
  std::string_view text() const { return text_; }

  std::optional<SymbolId> FindSymbol(std::string_view name) const;
  SymbolId AddSymbol(std::string_view name, Symbol::Kind kind, uint32_t index);

  // Records the first error since TakeError; the callers unwind with false.
  bool Fail(SourcePosition position, std::string message);
  // "expected <what>, found <token>"
  bool Expected(const Token& found, std::string_view what);
  bool failed() const { return error_.has_value(); }
  Diagnostic TakeError();

  // Takes from the budget for initial values, which bounds how far a short text can expand.
  bool SpendInitializerBytes(uint64_t bytes);

 private:
  std::string_view text_;
  Module* module_;
  std::unordered_map<std::string_view, SymbolId> symbols_;  // keys point into the text
  std::optional<Diagnostic> error_;
  uint64_t initializer_budget_;
};

}  // namespace tutti::ptx
