#include "ptx/parse_body.h"

#include <fmt/format.h>

#include "ptx/body_state.h"
#include "ptx/constant_expression.h"
#include "ptx/parse_declaration.h"
#include "ptx/parse_instruction.h"

namespace tutti::ptx {
namespace {

constexpr uint64_t kMaxRegisters = 1u << 24;
constexpr uint64_t kMaxFileNumber = 1u << 16;
constexpr uint64_t kMaxLine = ~0u;
constexpr size_t kMaxBranchTargets = 1u << 20;

class BodyParser {
 public:
  BodyParser(ParseContext& context, LexerState start, Function* function)
      : context_(context), tokens_(context.text(), start), function_(*function), scopes_(function) {}

  bool Parse(const std::vector<std::string_view>& local_names) {
    for (uint32_t i = 0; i < local_names.size();) {
      uint32_t components = 1;
      while (i + components < local_names.size() && local_names[i + components].empty()) ++components;
      if (!DeclareParameter(local_names[i], i, components)) return false;
      i += components;
    }
    if (!scopes_.Open()) return false;  // parameters may be hidden by the body's own names
    while (scopes_.depth() > 1) {
      if (!Statement()) return false;
    }
    return ResolveLabels();
  }

 private:
  bool Fail(const Token& at, std::string message) { return context_.Fail(at.position, std::move(message)); }

  // Of locals from `index` on: one, or the components of a vector register.
  bool DeclareParameter(std::string_view name, uint32_t index, uint32_t components) {
    LocalVariable& local = function_.locals[index];
    const bool in_registers = local.space == StateSpace::kReg;
    const bool fresh = in_registers ? scopes_.DeclareRegister(name, local.type, static_cast<uint8_t>(components))
                                    : scopes_.DeclareIndex(name, NamedThing::Kind::kLocal, index);
    if (!fresh) return context_.Fail(function_.position, fmt::format("'{}' is the name of two parameters", name));
    if (!in_registers) {
      local.name = scopes_.UniqueName(name);
      return true;
    }
    for (uint32_t i = 0; i < components; ++i) {
      LocalVariable& part = function_.locals[index + i];
      part.register_id = components == 1 ? scopes_.Find(name)->index : scopes_.Component(name, i);
      part.name = function_.registers[part.register_id].name;
    }
    return true;
  }

  bool Statement() {
    const Token token = tokens_.current();
    if (token.Is('{')) {
      tokens_.Advance();
      return scopes_.Open() || Fail(token, "scopes are nested too deeply");
    }
    if (tokens_.Accept('}')) {
      scopes_.Close();
      return true;
    }
    if (tokens_.Accept(';')) return true;
    if (token.kind == TokenKind::kDotWord) return Directive();
    if (token.kind == TokenKind::kWord && tokens_.next().Is(':')) return LabelOrTable();
    BodyState state{context_, tokens_, function_, scopes_, prototypes_, source_line_, source_file_};
    return ParseInstruction(state);
  }

  bool Directive() {
    const Token word = tokens_.Take();
    if (word.text == "reg") return Registers();
    if (word.text == "local") return Locals(StateSpace::kLocal);
    if (word.text == "shared") return Locals(StateSpace::kShared);
    if (word.text == "param") return Locals(StateSpace::kParam);
    if (word.text == "loc") return Location();
    if (word.text == "pragma") return Pragma();
    return Fail(word, fmt::format("'.{}' is not known in a function", word.text));
  }

  bool Pragma() {
    do {
      if (tokens_.current().kind != TokenKind::kString) return context_.Expected(tokens_.current(), "a string");
      function_.pragmas.push_back(
          {static_cast<uint32_t>(function_.instructions.size()), std::string(tokens_.Take().text)});
    } while (tokens_.Accept(','));
    return Expect(context_, tokens_, ';', "after .pragma");
  }

  // ".loc 1 20 5", or with ", function_name $L__info_string0, inlined_at 1 30 3".
  bool Location() {
    const auto file = ParseCount(context_, tokens_, kMaxFileNumber, "a file number");
    const auto line = file ? ParseCount(context_, tokens_, kMaxLine, "a line") : std::nullopt;
    if (!line || !ParseCount(context_, tokens_, kMaxLine, "a column")) return false;
    source_file_ = static_cast<uint32_t>(*file);
    source_line_ = static_cast<uint32_t>(*line);
    while (tokens_.Accept(',')) {
      const auto word = ParseName(context_, tokens_, "an attribute of .loc");
      if (!word) return false;
      if (word->text == "function_name") {
        if (!ParseName(context_, tokens_, "a label")) return false;
        if (tokens_.At('+') && !ParseConstant(context_, tokens_)) return false;
      } else if (word->text == "inlined_at") {
        for (int i = 0; i < 3; ++i) {
          if (!ParseCount(context_, tokens_, kMaxLine, "a line")) return false;
        }
      } else {
        return Fail(*word, "unknown attribute of .loc");
      }
    }
    return true;
  }

  bool Registers() {
    DeclaredShape shape;
    if (!ParseShape(context_, tokens_, &shape)) return false;
    if (shape.vector > 4) return Fail(tokens_.current(), "a vector register has at most 4 components");
    do {
      const auto name = ParseName(context_, tokens_, "the name of a register");
      if (!name) return false;
      bool fresh = false;
      if (tokens_.Accept('<')) {
        if (shape.vector != 1) return Fail(*name, "a range of vector registers");
        if (tokens_.current().kind != TokenKind::kInteger || tokens_.current().value > kMaxRegisters) {
          return context_.Expected(tokens_.current(), "a number of registers");
        }
        fresh = scopes_.DeclareRegisters(name->text, tokens_.Take().value, shape.type);
        if (!Expect(context_, tokens_, '>', "after a number of registers")) return false;
      } else {
        fresh = scopes_.DeclareRegister(name->text, shape.type, static_cast<uint8_t>(shape.vector));
      }
      if (!fresh) return Fail(*name, fmt::format("'{}' is declared a second time", name->text));
    } while (tokens_.Accept(','));
    return Expect(context_, tokens_, ';', "after registers");
  }

  bool Locals(StateSpace space) {
    DeclaredShape shape;
    if (!ParseShape(context_, tokens_, &shape)) return false;
    do {
      const auto name = ParseName(context_, tokens_, "the name of a variable");
      if (!name) return false;
      std::vector<uint64_t> dimensions;
      if (!ParseDimensions(context_, tokens_, &dimensions)) return false;
      const auto extent = ExtentOf(context_, name->position, shape, dimensions);
      if (!extent) return false;
      const auto index = static_cast<uint32_t>(function_.locals.size());
      if (!scopes_.DeclareIndex(name->text, NamedThing::Kind::kLocal, index)) {
        return Fail(*name, fmt::format("'{}' is declared a second time", name->text));
      }
      LocalVariable local;
      local.name = scopes_.UniqueName(name->text);
      local.space = space;
      local.type = shape.type;
      local.vector = shape.vector;
      local.count = extent->count;
      local.alignment = extent->alignment;
      function_.locals.push_back(std::move(local));
    } while (tokens_.Accept(','));
    return Expect(context_, tokens_, ';', "after a variable");
  }

  bool LabelOrTable() {
    const Token name = tokens_.Take();
    tokens_.Advance();  // ':'
    if (tokens_.AcceptDot("branchtargets")) return BranchTargets(name);
    if (tokens_.AcceptDot("callprototype")) return CallPrototype(name);
    if (tokens_.AcceptDot("calltargets")) return CallTargets(name);
    return scopes_.DefineLabel(name.text) || Fail(name, fmt::format("label '{}' is defined a second time", name.text));
  }

  bool DeclareTable(const Token& name, NamedThing::Kind kind, size_t index) {
    if (scopes_.DeclareIndex(name.text, kind, static_cast<uint32_t>(index))) return true;
    return Fail(name, fmt::format("'{}' is declared a second time", name.text));
  }

  bool BranchTargets(const Token& name) {
    std::vector<LabelId> targets;  // references until ResolveLabels
    do {
      const auto label = ParseName(context_, tokens_, "a label");
      if (!label) return false;
      if (targets.size() == kMaxBranchTargets) return Fail(*label, "too many branch targets");
      targets.push_back(scopes_.ReferToLabel(label->text, label->position));
    } while (tokens_.Accept(','));
    function_.branch_targets.push_back(std::move(targets));
    return DeclareTable(name, NamedThing::Kind::kBranchTargets, function_.branch_targets.size() - 1) &&
           Expect(context_, tokens_, ';', "after .branchtargets");
  }

  bool CallPrototype(const Token& name) {
    Prototype prototype;
    ParameterList returns;
    ParameterList parameters;
    if (tokens_.At('(') && !ParseParameters(context_, tokens_, true, &returns)) return false;
    if (!ParseName(context_, tokens_, "'_'")) return false;
    if (tokens_.At('(') && !ParseParameters(context_, tokens_, true, &parameters)) return false;
    while (tokens_.current().kind == TokenKind::kDotWord) {
      const Token word = tokens_.Take();
      if (word.text == "noreturn") {
        prototype.noreturn = true;
      } else if (word.text == "abi_preserve" || word.text == "abi_preserve_control") {
        if (!ParseConstant(context_, tokens_)) return false;
      } else {
        return Fail(word, "unknown directive of a prototype");
      }
    }
    prototype.returns = std::move(returns.variables);
    prototype.params = std::move(parameters.variables);
    function_.prototypes.push_back(std::move(prototype));
    return DeclareTable(name, NamedThing::Kind::kPrototype, function_.prototypes.size() - 1) &&
           Expect(context_, tokens_, ';', "after .callprototype");
  }

  // The possible targets of an indirect call: all of one shape, so the first one's says it all.
  bool CallTargets(const Token& name) {
    bool first = true;
    do {
      const auto target = ParseName(context_, tokens_, "a function");
      if (!target) return false;
      const auto id = context_.FindSymbol(target->text);
      const Symbol* symbol = id ? &context_.module().symbols[*id] : nullptr;
      if (symbol == nullptr || symbol->kind != Symbol::Kind::kFunction) {
        return Fail(*target, fmt::format("'{}' is not a function", target->text));
      }
      if (first) function_.prototypes.push_back(context_.module().functions[symbol->index].prototype);
      first = false;
    } while (tokens_.Accept(','));
    return DeclareTable(name, NamedThing::Kind::kPrototype, function_.prototypes.size() - 1) &&
           Expect(context_, tokens_, ';', "after .calltargets");
  }

  bool ResolveLabels() {
    if (const auto* missing = scopes_.ResolveLabels()) {
      return context_.Fail(missing->position, fmt::format("label '{}' is not defined", missing->name));
    }
    for (Instruction& instruction : function_.instructions) {
      for (Operand& operand : instruction.operands) {
        if (operand.kind == OperandKind::kLabel) operand.index = scopes_.LabelOf(operand.index);
      }
    }
    for (auto& targets : function_.branch_targets) {
      for (LabelId& target : targets) target = scopes_.LabelOf(target);
    }
    return true;
  }

  ParseContext& context_;
  TokenStream tokens_;
  Function& function_;
  NameScopes scopes_;
  std::map<uint32_t, uint32_t> prototypes_;  // see BodyState
  uint32_t source_line_ = 0;
  uint32_t source_file_ = 0;
};

}  // namespace

bool ParseBody(ParseContext& context, LexerState start, Function* function,
               const std::vector<std::string_view>& local_names) {
  if (BodyParser(context, start, function).Parse(local_names)) return true;
  ClearBody(function);
  return false;
}

void ClearBody(Function* function) {
  function->locals.resize(function->prototype.returns.size() + function->prototype.params.size());
  function->registers.clear();
  function->labels.clear();
  function->instructions.clear();
  function->vector_operands.clear();
  function->prototypes.clear();
  function->branch_targets.clear();
  function->pragmas.clear();
}

}  // namespace tutti::ptx
