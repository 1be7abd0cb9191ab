#include "ptx/parse_module.h"

#include <fmt/format.h>

#include "ptx/constant_expression.h"
#include "ptx/parse_declaration.h"

namespace tutti::ptx {
namespace {

constexpr uint64_t kMaxFileNumber = 1u << 16;
constexpr uint64_t kMaxVersion = 1000;

std::optional<Linkage> LinkageFromName(std::string_view name) {
  if (name == "extern") return Linkage::kExtern;
  if (name == "visible") return Linkage::kVisible;
  if (name == "weak") return Linkage::kWeak;
  if (name == "common") return Linkage::kCommon;
  return std::nullopt;
}

class ModuleParser {
 public:
  ModuleParser(ParseContext& context, std::vector<PendingBody>* bodies)
      : context_(context), tokens_(context.text()), bodies_(bodies) {}

  bool Parse() {
    if (!tokens_.current().IsDot("version")) return context_.Expected(tokens_.current(), "'.version'");
    while (tokens_.current().kind != TokenKind::kEnd) {
      if (tokens_.Accept(';')) continue;
      if (tokens_.At('@') && tokens_.next().Is('@')) {  // "@@DWARF ...": debug data of old compilers
        SkipLine();
        continue;
      }
      if (!Item()) return false;
    }
    return true;
  }

 private:
  bool Item() {
    const Token word = tokens_.current();
    if (word.kind != TokenKind::kDotWord) return context_.Expected(word, "a directive");
    tokens_.Advance();
    if (word.text == "version") return Version();
    if (word.text == "target") return Target();
    if (word.text == "address_size") return AddressSize();
    if (word.text == "file") return File();
    if (word.text == "section") return Section();
    if (word.text == "pragma") return Pragma();
    if (word.text == "alias") return Alias();
    return Declaration(word);
  }

  bool Declaration(Token word) {
    Linkage linkage = Linkage::kNone;
    if (const auto named = LinkageFromName(word.text)) {
      linkage = *named;
      word = tokens_.current();
      if (word.kind != TokenKind::kDotWord) return context_.Expected(word, "a declaration");
      tokens_.Advance();
    }
    if (word.text == "entry") return ParseFunctionHeader(context_, tokens_, true, linkage, bodies_);
    if (word.text == "func") return ParseFunctionHeader(context_, tokens_, false, linkage, bodies_);
    if (word.text == "tex") return ParseModuleVariables(context_, tokens_, StateSpace::kGlobal, linkage);
    const auto space = StateSpaceFromName(word.text);
    if (space == StateSpace::kGlobal || space == StateSpace::kConst || space == StateSpace::kShared) {
      AcceptConstBank(*space);
      return ParseModuleVariables(context_, tokens_, *space, linkage);
    }
    return context_.Fail(word.position, fmt::format("'.{}' is not known at module level", word.text));
  }

  // ".const[2]": banks are gone since PTX 2.2 and mean the same memory.
  void AcceptConstBank(StateSpace space) {
    if (space != StateSpace::kConst || !tokens_.Accept('[')) return;
    tokens_.Advance();
    tokens_.Accept(']');
  }

  // "9.0" is one token to the lexer.
  bool Version() {
    const Token token = tokens_.Take();
    const size_t dot = token.text.find('.');
    uint64_t parts[2] = {0, 0};
    if (token.kind != TokenKind::kFloat || dot == std::string_view::npos || token.text.size() > 8) {
      return context_.Expected(token, "a version");
    }
    for (size_t i = 0; i < token.text.size(); ++i) {
      const char c = token.text[i];
      if (i == dot) continue;
      if (c < '0' || c > '9') return context_.Expected(token, "a version");
      uint64_t& part = parts[i > dot];
      part = part * 10 + static_cast<uint64_t>(c - '0');
    }
    if (parts[0] > kMaxVersion || parts[1] > 99) return context_.Expected(token, "a version");
    context_.module().version_major = static_cast<uint32_t>(parts[0]);
    context_.module().version_minor = static_cast<uint32_t>(parts[1]);
    return true;
  }

  bool Target() {
    std::string target;
    do {
      const auto name = ParseName(context_, tokens_, "a target");
      if (!name) return false;
      if (!target.empty()) target += ", ";
      target += name->text;
    } while (tokens_.Accept(','));
    context_.module().target = std::move(target);
    return true;
  }

  bool AddressSize() {
    const SourcePosition position = tokens_.current().position;
    const auto bits = ParseCount(context_, tokens_, 64, "the address size");
    if (!bits) return false;
    if (*bits != 64) return context_.Fail(position, "only 64-bit modules are supported");
    return true;
  }

  // .file 1 "name" [, time, size]
  bool File() {
    const auto number = ParseCount(context_, tokens_, kMaxFileNumber, "a file number");
    if (!number) return false;
    if (tokens_.current().kind != TokenKind::kString) return context_.Expected(tokens_.current(), "a file name");
    auto& files = context_.module().files;
    if (files.size() <= *number) files.resize(*number + 1);
    files[*number] = tokens_.Take().text;
    while (tokens_.Accept(',')) {
      if (!ParseConstant(context_, tokens_)) return false;
    }
    return true;
  }

  // Debug data: ".section .debug_info { ... }".
  bool Section() {
    while (!tokens_.At('{') && tokens_.current().kind == TokenKind::kDotWord) tokens_.Advance();
    const Token brace = tokens_.current();
    if (!brace.Is('{')) return context_.Expected(brace, "'{'");
    return tokens_.SkipBraces() || context_.Fail(brace.position, "this section has no end");
  }

  bool Pragma() {
    while (tokens_.current().kind == TokenKind::kString) {
      tokens_.Advance();
      if (!tokens_.Accept(',')) break;
    }
    return Expect(context_, tokens_, ';', "after .pragma");
  }

  // ".alias a, b;": a is another name of function b.
  bool Alias() {
    const auto alias = ParseName(context_, tokens_, "a function");
    if (!alias || !Expect(context_, tokens_, ',', "after an alias")) return false;
    const auto target = ParseName(context_, tokens_, "a function");
    if (!target) return false;
    const auto target_id = context_.FindSymbol(target->text);
    auto& symbols = context_.module().symbols;
    if (!target_id || symbols[*target_id].kind != Symbol::Kind::kFunction) {
      return context_.Fail(target->position, fmt::format("'{}' is not a function", target->text));
    }
    const uint32_t function = symbols[*target_id].index;
    const auto alias_id = context_.FindSymbol(alias->text);
    if (!alias_id) {
      context_.AddSymbol(alias->text, Symbol::Kind::kFunction, function);
    } else if (symbols[*alias_id].kind == Symbol::Kind::kFunction &&
               !context_.module().functions[symbols[*alias_id].index].has_body) {
      symbols[*alias_id].index = function;
    } else {
      return context_.Fail(alias->position, fmt::format("'{}' is defined a second time", alias->text));
    }
    return Expect(context_, tokens_, ';', "after .alias");
  }

  void SkipLine() {
    const uint32_t line = tokens_.current().position.line;
    while (tokens_.current().kind != TokenKind::kEnd && tokens_.current().position.line == line) tokens_.Advance();
  }

  ParseContext& context_;
  TokenStream tokens_;
  std::vector<PendingBody>* bodies_;
};

}  // namespace

bool ParseModuleLevel(ParseContext& context, std::vector<PendingBody>* bodies) {
  return ModuleParser(context, bodies).Parse();
}

}  // namespace tutti::ptx
