#include "ptx/parse_context.h"

#include <fmt/format.h>

namespace tutti::ptx {
namespace {

constexpr uint64_t kFreeInitializerBytes = 64ull << 20;
constexpr uint64_t kInitializerBytesPerTextByte = 16;
constexpr size_t kShownTokenBytes = 64;
constexpr size_t kMaxMessageBytes = 1024;  // names in it may be of any length

}  // namespace

ParseContext::ParseContext(std::string_view text, Module* module)
    : text_(text),
      module_(module),
      initializer_budget_(kFreeInitializerBytes + kInitializerBytesPerTextByte * text.size()) {}

std::optional<SymbolId> ParseContext::FindSymbol(std::string_view name) const {
  const auto found = symbols_.find(name);
  if (found == symbols_.end()) return std::nullopt;
  return found->second;
}

SymbolId ParseContext::AddSymbol(std::string_view name, Symbol::Kind kind, uint32_t index) {
  const auto id = static_cast<SymbolId>(module_->symbols.size());
  module_->symbols.push_back({std::string(name), kind, index});
  symbols_.emplace(name, id);
  return id;
}

bool ParseContext::Fail(SourcePosition position, std::string message) {
  if (error_) return false;
  if (message.size() > kMaxMessageBytes) message = message.substr(0, kMaxMessageBytes) + "...";
  error_ = Diagnostic{position, std::move(message)};
  return false;
}

bool ParseContext::Expected(const Token& found, std::string_view what) {
  if (found.kind == TokenKind::kInvalid) return Fail(found.position, std::string(found.text));
  if (found.kind == TokenKind::kEnd)
    return Fail(found.position, fmt::format("expected {}, but the text ends here", what));
  return Fail(found.position,
              fmt::format("expected {} before '{}{}'", what, found.kind == TokenKind::kDotWord ? "." : "",
                          found.text.substr(0, kShownTokenBytes)));
}

Diagnostic ParseContext::TakeError() {
  Diagnostic taken = error_.value_or(Diagnostic{{}, "unknown error"});
  error_.reset();
  return taken;
}

bool ParseContext::SpendInitializerBytes(uint64_t bytes) {
  if (bytes > initializer_budget_) return false;
  initializer_budget_ -= bytes;
  return true;
}

}  // namespace tutti::ptx
