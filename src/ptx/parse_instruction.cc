#include "ptx/parse_instruction.h"

#include <fmt/format.h>

#include <span>

#include "ptx/parse_declaration.h"
#include "ptx/parse_operand.h"

namespace tutti::ptx {
namespace {

constexpr size_t kMaxOperands = 1024;
constexpr uint32_t kMaxWords = 32;  // of a mnemonic; Instruction::word_order has room for as many

class InstructionParser {
 public:
  explicit InstructionParser(BodyState& state) : state_(state), tokens_(state.tokens) {}

  bool Parse() {
    if (!ParseGuard()) return false;
    const Token mnemonic = tokens_.current();
    if (mnemonic.kind != TokenKind::kWord) return state_.context.Expected(mnemonic, "an instruction");
    const auto opcode = OpcodeFromName(mnemonic.text);
    if (!opcode) return Fail(mnemonic, fmt::format("unknown instruction '{}'", mnemonic.text));
    tokens_.Advance();
    out_.opcode = *opcode;
    out_.position = mnemonic.position;
    out_.source_line = state_.source_line;
    out_.source_file = state_.source_file;
    if (!ParseModifiers() || !ParseOperands()) return false;
    if (!Expect(state_.context, tokens_, ';', "after an instruction")) return false;
    if (IsMoveOfSpecials()) return MoveSpecials(mnemonic);
    state_.function.instructions.push_back(std::move(out_));
    return true;
  }

 private:
  bool Fail(const Token& at, std::string message) { return state_.context.Fail(at.position, std::move(message)); }

  const Operand& Element(const Operand& vector, uint32_t i) const {
    return state_.function.vector_operands[vector.index + i];
  }

  bool IsMoveOfSpecials() const {
    if (out_.opcode != Opcode::kMov || out_.operands.size() != 2) return false;
    const Operand& from = out_.operands[1];
    return from.kind == OperandKind::kVector && from.count == 4 && Element(from, 0).kind == OperandKind::kSpecial;
  }

  // mov.v4.u32 {a, b, c, d}, %tid: one mov for each.
  bool MoveSpecials(const Token& mnemonic) {
    const Operand to = out_.operands[0], from = out_.operands[1];
    if (to.kind != OperandKind::kVector || to.count != 4 || out_.vector != 4 || out_.types.size() != 1 ||
        !out_.modifiers.empty()) {
      return Fail(mnemonic, "this register is a vector of four: mov.v4");
    }
    out_.vector = 1;
    out_.word_order = static_cast<uint64_t>(WordGroup::kType);
    for (uint32_t i = 0; i < 4; ++i) {
      if (Element(to, i).kind == OperandKind::kSink) continue;
      out_.operands = {Element(to, i), Element(from, i)};
      state_.function.instructions.push_back(out_);
    }
    state_.function.vector_operands.resize(to.index);
    return true;
  }

  bool ParseGuard() {
    if (!tokens_.Accept('@')) return true;
    Guard guard;
    guard.negated = tokens_.Accept('!');
    const auto name = ParseName(state_.context, tokens_, "a predicate register");
    if (!name) return false;
    const NamedThing* thing = state_.scopes.Find(name->text);
    if (thing == nullptr) return Fail(*name, fmt::format("'{}' is not declared", name->text));
    if (thing->kind != NamedThing::Kind::kRegister || thing->type != Type::kPred) {
      return Fail(*name, fmt::format("'{}' is not a predicate register", name->text));
    }
    guard.predicate = thing->index;
    out_.guard = guard;
    return true;
  }

  bool ParseModifiers() {
    uint32_t words = 0;
    for (; tokens_.current().kind == TokenKind::kDotWord; ++words) {
      const Token word = tokens_.Take();
      if (words == kMaxWords) return Fail(word, "too many modifiers");
      WordGroup group = WordGroup::kModifier;
      if (const auto type = TypeFromName(word.text)) {
        group = WordGroup::kType;
        if (!out_.types.push_back(*type)) return Fail(word, "too many types");
      } else if (const auto modifier = ModifierFromName(word.text)) {
        if (!out_.modifiers.push_back(*modifier)) return Fail(word, "too many modifiers");
      } else if (const auto space = StateSpaceFromName(word.text)) {
        group = WordGroup::kSpace;
        if (!AddSpace(*space)) return Fail(word, "too many state spaces");
      } else if (word.text == "v2" || word.text == "v4" || word.text == "v8") {
        group = WordGroup::kVector;
        if (out_.vector != 1) return Fail(word, "a second vector width");
        out_.vector = static_cast<uint8_t>(word.text[1] - '0');
      } else {
        return Fail(word, fmt::format("unknown modifier '.{}' of '{}'", word.text, NameOf(out_.opcode)));
      }
      out_.word_order |= static_cast<uint64_t>(group) << (2 * words);
    }
    return true;
  }

  bool AddSpace(StateSpace space) {
    if (out_.space == StateSpace::kGeneric) {
      out_.space = space;
    } else if (out_.second_space == StateSpace::kGeneric) {
      out_.second_space = space;
    } else {
      return false;
    }
    return true;
  }

  bool ParseOperands() {
    switch (out_.opcode) {
      case Opcode::kBra: return ParseLabelOperand(state_, &out_.operands);
      case Opcode::kBrx: return ParseIndexedBranch();
      case Opcode::kCall: return ParseCall();
      default: return ParseOperandList();
    }
  }

  bool ParseOperandList() {
    if (tokens_.At(';')) return true;
    do {
      if (out_.operands.size() >= kMaxOperands) return Fail(tokens_.current(), "too many operands");
      if (!ParseOperand(state_, &out_.operands)) return false;
      if (!tokens_.At('|')) continue;
      if (out_.operands.size() != 1)
        return Fail(tokens_.current(), "only the first operand can have a second destination");
      tokens_.Advance();
      if (!ParseOperand(state_, &out_.operands)) return false;
      out_.has_second_destination = true;
    } while (tokens_.Accept(','));
    return true;
  }

  // The name of a table that was declared before: "brx.idx %r1, targets", "call (r), %rd1, (a), prototype".
  std::optional<uint32_t> ParseTable(NamedThing::Kind kind, std::string_view what) {
    const auto name = ParseName(state_.context, tokens_, what);
    if (!name) return std::nullopt;
    const NamedThing* thing = state_.scopes.Find(name->text);
    if (thing == nullptr || thing->kind != kind) {
      Fail(*name, fmt::format("'{}' is not {} declared before", name->text, what));
      return std::nullopt;
    }
    return thing->index;
  }

  // A prototype, a list of targets, or a variable that holds the addresses of functions: then it is that of the first.
  std::optional<uint32_t> ParsePrototype() {
    const Token& name = tokens_.current();
    const auto symbol = state_.scopes.Find(name.text) == nullptr ? state_.context.FindSymbol(name.text) : std::nullopt;
    const auto function = symbol ? FunctionIn(state_.context.module().symbols[*symbol]) : std::nullopt;
    if (!function) return ParseTable(NamedThing::Kind::kPrototype, "a call prototype");
    tokens_.Advance();
    auto& prototypes = state_.function.prototypes;
    const auto [entry, is_first] = state_.prototypes.try_emplace(*function, static_cast<uint32_t>(prototypes.size()));
    if (is_first) prototypes.push_back(Prototype(state_.context.module().functions[*function].prototype));
    return entry->second;
  }

  // The first function in a table, as its index in Module::functions.
  std::optional<uint32_t> FunctionIn(const Symbol& symbol) const {
    const Module& module = state_.context.module();
    if (symbol.kind != Symbol::Kind::kVariable) return std::nullopt;
    const auto& addresses = module.variables[symbol.index].init.addresses;
    if (addresses.empty() || addresses[0].offset != 0) return std::nullopt;
    const Symbol& target = module.symbols[addresses[0].symbol];
    return target.kind == Symbol::Kind::kFunction ? std::optional(target.index) : std::nullopt;
  }

  bool ParseIndexedBranch() {
    if (!ParseOperand(state_, &out_.operands) || !Expect(state_.context, tokens_, ',', "before the branch targets"))
      return false;
    const auto table = ParseTable(NamedThing::Kind::kBranchTargets, "a list of branch targets");
    if (!table) return false;
    out_.branch_targets = *table;
    return true;
  }

  // A vector register is as many operands as it has components: see AddRegisters in parse_declaration.cc.
  void SpreadVector(std::vector<Operand>* list) {
    const Operand vector = list->back();
    list->pop_back();
    const auto elements = std::span(state_.function.vector_operands).subspan(vector.index, vector.count);
    list->insert(list->end(), elements.begin(), elements.end());
    state_.function.vector_operands.resize(vector.index);
  }

  bool ParseCallList(std::vector<Operand>* list) {
    if (!Expect(state_.context, tokens_, '(', "before the operands of a call")) return false;
    if (tokens_.Accept(')')) return true;
    do {
      if (list->size() >= kMaxOperands) return Fail(tokens_.current(), "too many operands");
      if (tokens_.At('[') || tokens_.At('{')) return state_.context.Expected(tokens_.current(), "an operand of a call");
      if (!ParseOperand(state_, list)) return false;
      if (list->back().kind == OperandKind::kVector) SpreadVector(list);
    } while (tokens_.Accept(','));
    return Expect(state_.context, tokens_, ')', "after the operands of a call");
  }

  bool ParseCall() {
    std::vector<Operand> returns;
    std::vector<Operand> target;
    std::vector<Operand> arguments;
    if (tokens_.At('(')) {
      if (!ParseCallList(&returns) || !Expect(state_.context, tokens_, ',', "before the function to call"))
        return false;
    }
    const Token at = tokens_.current();
    if (!ParseOperand(state_, &target)) return false;
    if (!CheckTarget(at, target.front())) return false;
    if (tokens_.At(',') && tokens_.next().Is('(')) {
      tokens_.Advance();
      if (!ParseCallList(&arguments)) return false;
    }
    if (tokens_.Accept(',')) {
      const auto prototype = ParsePrototype();
      if (!prototype) return false;
      out_.prototype = *prototype;
    }
    out_.call_returns = static_cast<uint32_t>(returns.size());
    out_.call_arguments = static_cast<uint32_t>(arguments.size());
    out_.operands = std::move(target);
    out_.operands.insert(out_.operands.end(), returns.begin(), returns.end());
    out_.operands.insert(out_.operands.end(), arguments.begin(), arguments.end());
    return true;
  }

  bool CheckTarget(const Token& at, const Operand& target) {
    if (target.kind == OperandKind::kRegister) return true;
    const auto& symbols = state_.context.module().symbols;
    const bool is_function =
        target.kind == OperandKind::kSymbol && symbols[target.index].kind == Symbol::Kind::kFunction;
    return is_function || Fail(at, fmt::format("'{}' is not a function", at.text));
  }

  BodyState& state_;
  TokenStream& tokens_;
  Instruction out_;
};

}  // namespace

bool ParseInstruction(BodyState& state) { return InstructionParser(state).Parse(); }

}  // namespace tutti::ptx
