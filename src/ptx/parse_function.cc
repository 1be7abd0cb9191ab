#include "ptx/parse_function.h"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/constant_expression.h"
#include "ptx/parse_declaration.h"

namespace tutti::ptx {
namespace {

constexpr uint64_t kMaxExtent = 0x7fffffff;

// Of two declarations of one function.
bool IsSame(const std::vector<LocalVariable>& one, const std::vector<LocalVariable>& other) {
  return std::ranges::equal(one, other, [](const LocalVariable& a, const LocalVariable& b) {
    return a.space == b.space && a.bytes() == b.bytes() && BitsOf(a.type) == BitsOf(b.type);
  });
}

class HeaderParser {
 public:
  HeaderParser(ParseContext& context, TokenStream& tokens, bool is_entry, Linkage linkage)
      : context_(context), tokens_(tokens) {
    function_.is_entry = is_entry;
    function_.linkage = linkage;
  }

  bool Parse(std::vector<PendingBody>* bodies) {
    ParameterList returns;
    ParameterList parameters;
    while (tokens_.current().kind == TokenKind::kDotWord) {  // ".func .attribute(...) name"
      if (!Directive()) return false;
    }
    if (tokens_.At('(') && !ParseParameters(context_, tokens_, false, &returns)) return false;
    const auto name = ParseName(context_, tokens_, "the name of a function");
    if (!name) return false;
    function_.name = name->text;
    function_.position = name->position;
    if (tokens_.At('(') && !ParseParameters(context_, tokens_, true, &parameters)) return false;
    while (tokens_.current().kind == TokenKind::kDotWord && !EndsWithoutSemicolon()) {
      if (!Directive()) return false;
    }
    SetPrototype(returns, parameters);
    const auto in_register = [](const LocalVariable& parameter) { return parameter.space == StateSpace::kReg; };
    if (function_.is_entry && std::ranges::any_of(parameters.variables, in_register))
      return context_.Fail(name->position, "parameters of a kernel are .param variables");

    PendingBody body;
    body.local_names = std::move(returns.names);
    body.local_names.insert(body.local_names.end(), parameters.names.begin(), parameters.names.end());
    if (tokens_.At('{')) {
      body.exists = true;
      body.start = tokens_.StateAfterCurrent();
      if (!tokens_.SkipBraces()) return context_.Fail(name->position, "the body of this function has no end");
      function_.has_body = true;
    } else if (!EndsWithoutSemicolon() && !Expect(context_, tokens_, ';', "or a body after a function")) {
      return false;
    }
    return Add(*name, std::move(body), bodies);
  }

 private:
  // The declaration of an external function may end where the next item begins: ptxas takes it, and compilers write it.
  bool EndsWithoutSemicolon() const {
    if (function_.linkage != Linkage::kExtern) return false;
    const Token& next = tokens_.current();
    if (next.kind == TokenKind::kEnd) return true;
    constexpr std::string_view kItems[] = {"extern", "visible", "weak",   "common", "entry",   "func",
                                           "global", "const",   "shared", "file",   "section", "alias"};
    return next.kind == TokenKind::kDotWord && std::ranges::find(kItems, next.text) != std::end(kItems);
  }

  bool ParseExtents(std::array<uint32_t, 3>* extents) {
    *extents = {1, 1, 1};
    for (size_t i = 0; i < 3; ++i) {
      const auto extent = ParseCount(context_, tokens_, kMaxExtent, "an extent");
      if (!extent) return false;
      (*extents)[i] = static_cast<uint32_t>(*extent);
      if (i == 2 || !tokens_.Accept(',')) break;
    }
    return true;
  }

  bool ParseNumber(uint32_t* number) {
    const auto value = ParseCount(context_, tokens_, kMaxExtent, "this value");
    if (value) *number = static_cast<uint32_t>(*value);
    return value.has_value();
  }

  bool Directive() {
    const Token word = tokens_.Take();
    uint32_t ignored = 0;
    if (word.text == "maxntid") return ParseExtents(&function_.max_threads);
    if (word.text == "reqntid") return ParseExtents(&function_.required_threads);
    if (word.text == "reqnctapercluster") return ParseExtents(&function_.required_cluster);
    if (word.text == "minnctapersm") return ParseNumber(&function_.min_blocks);
    if (word.text == "maxnreg") return ParseNumber(&function_.max_registers);
    if (word.text == "noreturn") return function_.noreturn = true;
    if (word.text == "explicitcluster") return function_.explicit_cluster = true;
    if (word.text == "maxclusterrank") return ParseNumber(&function_.max_cluster);
    if (word.text == "blocksareclusters") return function_.blocks_are_clusters = true;
    for (const std::string_view known : {"maxnctapersm", "abi_preserve", "abi_preserve_control"}) {
      if (word.text == known) return ParseNumber(&ignored);
    }
    if (word.text == "attribute") return SkipParentheses();
    if (word.text == "pragma") return SkipPragma();
    return context_.Fail(word.position, fmt::format("'.{}' is not known in the header of a function", word.text));
  }

  bool SkipParentheses() {
    if (!Expect(context_, tokens_, '(', "after .attribute")) return false;
    for (size_t depth = 1; depth > 0; tokens_.Advance()) {
      if (tokens_.At('(')) ++depth;
      if (tokens_.At(')')) --depth;
      if (tokens_.current().kind == TokenKind::kEnd) return context_.Expected(tokens_.current(), "')'");
    }
    return true;
  }

  bool SkipPragma() {
    do {
      if (tokens_.current().kind != TokenKind::kString) return context_.Expected(tokens_.current(), "a string");
      tokens_.Advance();
    } while (tokens_.Accept(','));
    return Expect(context_, tokens_, ';', "after .pragma");
  }

  void SetPrototype(const ParameterList& returns, const ParameterList& parameters) {
    function_.prototype.returns = returns.variables;
    function_.prototype.params = parameters.variables;
    function_.prototype.noreturn = function_.noreturn;
    function_.first_return = 0;
    function_.first_param = static_cast<uint32_t>(returns.variables.size());
    function_.locals = returns.variables;
    function_.locals.insert(function_.locals.end(), parameters.variables.begin(), parameters.variables.end());
  }

  bool Add(const Token& name, PendingBody body, std::vector<PendingBody>* bodies) {
    auto& functions = context_.module().functions;
    const auto known = context_.FindSymbol(name.text);
    if (!known) {
      const auto index = static_cast<uint32_t>(functions.size());
      function_.symbol = context_.AddSymbol(name.text, Symbol::Kind::kFunction, index);
      functions.push_back(std::move(function_));
      bodies->push_back(std::move(body));
      return true;
    }
    const Symbol& symbol = context_.module().symbols[*known];
    if (symbol.kind != Symbol::Kind::kFunction)
      return context_.Fail(name.position, fmt::format("'{}' is a variable already", name.text));
    Function& before = functions[symbol.index];
    if (!IsSame(before.prototype.returns, function_.prototype.returns) ||
        !IsSame(before.prototype.params, function_.prototype.params)) {
      return context_.Fail(name.position, fmt::format("'{}' was declared with other parameters", name.text));
    }
    if (before.has_body && function_.has_body) {
      return context_.Fail(name.position, fmt::format("'{}' is defined a second time", name.text));
    }
    if (before.has_body) return true;
    function_.symbol = *known;
    if (function_.linkage == Linkage::kNone && before.linkage != Linkage::kExtern) function_.linkage = before.linkage;
    function_.noreturn = function_.noreturn || before.noreturn;
    before = std::move(function_);
    (*bodies)[symbol.index] = std::move(body);
    return true;
  }

  ParseContext& context_;
  TokenStream& tokens_;
  Function function_;
};

}  // namespace

bool ParseFunctionHeader(ParseContext& context, TokenStream& tokens, bool is_entry, Linkage linkage,
                         std::vector<PendingBody>* bodies) {
  return HeaderParser(context, tokens, is_entry, linkage).Parse(bodies);
}

}  // namespace tutti::ptx
