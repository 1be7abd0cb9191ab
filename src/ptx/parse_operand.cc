#include "ptx/parse_operand.h"

#include <fmt/format.h>

#include <array>

#include "ptx/constant_expression.h"
#include "ptx/parse_declaration.h"

namespace tutti::ptx {
namespace {

constexpr uint32_t kMaxVectorElements = 256;
constexpr uint32_t kMaxBracketOperands = 8;

bool IsComponent(std::string_view word) { return word.size() == 1 && std::string_view("xyzwrgba").contains(word[0]); }

uint32_t ComponentNumber(char letter) { return static_cast<uint32_t>(std::string_view("xyzwrgba").find(letter)) % 4; }

// Of a register, not of a number.
bool IsName(const Token& token) { return token.kind == TokenKind::kWord && token.text != "WARP_SZ"; }

// ".b3", ".h10": up to four digits below 8.
bool IsSelector(std::string_view word) {
  if (word.size() < 2 || word.size() > 5 || (word[0] != 'b' && word[0] != 'h')) return false;
  for (const char digit : word.substr(1)) {
    if (digit < '0' || digit > '7') return false;
  }
  return true;
}

class OperandParser {
 public:
  OperandParser(BodyState& state, std::vector<Operand>* operands) : state_(state), operands_(operands) {}

  bool Parse() {
    if (state_.tokens.At('[')) return Address();
    Operand operand;
    if (!(state_.tokens.At('{') ? Vector(&operand) : Simple(&operand))) return false;
    operands_->push_back(operand);
    return true;
  }

 private:
  const Token& current() const { return state_.tokens.current(); }
  bool Fail(const Token& at, std::string message) { return state_.context.Fail(at.position, std::move(message)); }

  bool Immediate(Operand* operand) {
    const auto constant = ParseConstant(state_.context, state_.tokens);
    if (!constant) return false;
    operand->kind = OperandKind::kImmediate;
    operand->is_float = constant->is_float;
    operand->is_f32 = constant->is_f32;
    operand->bits = constant->bits;
    return true;
  }

  bool Simple(Operand* operand) {
    const Token token = current();
    if (token.Is('!') && IsName(state_.tokens.next())) {
      state_.tokens.Advance();
      if (!Named(operand)) return false;
      operand->negated = true;
      return operand->kind == OperandKind::kRegister || Fail(token, "'!' needs a predicate register");
    }
    if (token.Is('-') && IsName(state_.tokens.next())) {
      state_.tokens.Advance();  // of a factor of vmad
      if (!Named(operand)) return false;
      operand->negated = true;
      return operand->kind == OperandKind::kRegister || Fail(token, "'-' needs a number or a register");
    }
    const Token& after = state_.tokens.next();
    if (token.kind == TokenKind::kWord && token.text == "WARP_SZ" &&
        (after.Is(',') || after.Is(';') || after.Is('}') || after.Is(']'))) {
      return Named(operand);
    }
    return StartsConstant(token) ? Immediate(operand) : Named(operand);
  }

  bool Named(Operand* operand) {
    const auto name = ParseName(state_.context, state_.tokens, "an operand");
    if (!name) return false;
    if (name->text == "_") return true;
    if (const NamedThing* thing = state_.scopes.Find(name->text)) return Declared(*name, *thing, operand);
    if (Special(*name, operand)) return true;
    const auto symbol = state_.context.FindSymbol(name->text);
    if (!symbol) return Fail(*name, fmt::format("'{}' is not declared", name->text));
    operand->kind = OperandKind::kSymbol;
    operand->index = *symbol;
    return Offset(operand);
  }

  // "%tid.x" is two tokens. Whole, "%tid" is a vector of four, the last of which is zero.
  bool Special(const Token& name, Operand* operand) {
    if (const auto special = SpecialRegisterFromName(name.text)) {
      *operand = Of(*special);
      return true;
    }
    if (!SpecialRegisterFromName(fmt::format("{}.x", name.text))) return false;
    std::array<Operand, 4> elements;
    elements[3].kind = OperandKind::kImmediate;
    for (uint32_t i = 0; i < 3; ++i)
      elements[i] = Of(*SpecialRegisterFromName(fmt::format("{}.{}", name.text, "xyz"[i])));
    if (current().kind == TokenKind::kDotWord && IsComponent(current().text)) {
      *operand = elements[ComponentNumber(current().text[0])];
      state_.tokens.Advance();
      return true;
    }
    std::vector<Operand>& all = state_.function.vector_operands;
    operand->kind = OperandKind::kVector;
    operand->count = 4;
    operand->index = static_cast<uint32_t>(all.size());
    all.insert(all.end(), elements.begin(), elements.end());
    return true;
  }

  static Operand Of(SpecialRegister special) {
    Operand operand;
    operand.kind = OperandKind::kSpecial;
    operand.index = static_cast<uint32_t>(special);
    return operand;
  }

  bool Declared(const Token& name, const NamedThing& thing, Operand* operand) {
    switch (thing.kind) {
      case NamedThing::Kind::kRegister:
        operand->kind = OperandKind::kRegister;
        operand->index = thing.index;
        return Selector(operand);
      case NamedThing::Kind::kVectorRegister: return VectorRegister(name, thing, operand);
      case NamedThing::Kind::kLocal:
        operand->kind = OperandKind::kLocal;
        operand->index = thing.index;
        return Offset(operand);
      default: return Fail(name, fmt::format("'{}' is not an operand", name.text));
    }
  }

  bool Selector(Operand* operand) {
    if (current().kind != TokenKind::kDotWord) return true;
    const Token word = state_.tokens.Take();
    if (!IsSelector(word.text)) return Fail(word, "a register has no such part");
    operand->selector = PackSelector(word.text.substr(1), word.text[0] == 'h');
    return true;
  }

  // `v.x`, or all of `v`.
  bool VectorRegister(const Token& name, const NamedThing& thing, Operand* operand) {
    if (current().kind == TokenKind::kDotWord && IsComponent(current().text)) {
      const uint32_t component = ComponentNumber(current().text[0]);
      if (component >= thing.vector) return Fail(current(), "this vector register has fewer components");
      state_.tokens.Advance();
      operand->kind = OperandKind::kRegister;
      operand->index = state_.scopes.Component(name.text, component);
      return true;
    }
    operand->kind = OperandKind::kVector;
    operand->count = thing.vector;
    std::vector<Operand>& elements = state_.function.vector_operands;
    operand->index = static_cast<uint32_t>(elements.size());
    for (uint32_t i = 0; i < operand->count; ++i) {
      Operand element;
      element.kind = OperandKind::kRegister;
      element.index = state_.scopes.Component(name.text, i);
      elements.push_back(element);
    }
    return true;
  }

  // "+ 8" behind the name of a variable.
  bool Offset(Operand* operand) {
    if (!state_.tokens.At('+') && !state_.tokens.At('-')) return true;
    const Token at = current();
    const auto constant = ParseConstant(state_.context, state_.tokens);
    if (!constant) return false;
    if (constant->is_float) return Fail(at, "an offset must be an integer");
    operand->offset = static_cast<int64_t>(constant->bits);
    return true;
  }

  bool Vector(Operand* operand) {
    const Token brace = state_.tokens.Take();
    std::vector<Operand> elements;
    if (!state_.tokens.At('}')) {
      do {
        if (elements.size() == kMaxVectorElements) return Fail(brace, "too many elements");
        if (state_.tokens.At('{')) return Fail(current(), "vectors do not nest");
        Operand element;
        if (!Simple(&element)) return false;
        if (element.kind == OperandKind::kVector) return Fail(brace, "vectors do not nest");
        elements.push_back(element);
      } while (state_.tokens.Accept(','));
    }
    if (!Expect(state_.context, state_.tokens, '}', "after the elements of a vector")) return false;
    operand->kind = OperandKind::kVector;
    operand->count = static_cast<uint32_t>(elements.size());
    operand->index = static_cast<uint32_t>(state_.function.vector_operands.size());
    auto& all = state_.function.vector_operands;
    all.insert(all.end(), elements.begin(), elements.end());
    return true;
  }

  bool Address() {
    state_.tokens.Advance();
    Operand address;
    if (!Base(&address)) return false;
    const size_t place = operands_->size();
    operands_->push_back(address);
    while (state_.tokens.Accept(',')) {
      if ((*operands_)[place].count == kMaxBracketOperands) return Fail(current(), "too many operands in brackets");
      Operand further;
      if (!(state_.tokens.At('{') ? Vector(&further) : Simple(&further))) return false;
      operands_->push_back(further);
      ++(*operands_)[place].count;
    }
    return Expect(state_.context, state_.tokens, ']', "after an address");
  }

  bool Base(Operand* address) {
    const Token token = current();
    Operand base;
    if (!Simple(&base)) return false;
    address->kind = OperandKind::kAddress;
    address->index = base.index;
    address->offset = base.offset;
    switch (base.kind) {
      case OperandKind::kRegister: address->base = BaseKind::kRegister; break;
      case OperandKind::kSymbol: address->base = BaseKind::kSymbol; break;
      case OperandKind::kLocal: address->base = BaseKind::kLocal; break;
      case OperandKind::kImmediate:
        if (base.is_float) return Fail(token, "an address must be an integer");
        address->offset = static_cast<int64_t>(base.bits);
        break;
      default: return Fail(token, "this is not an address");
    }
    if (base.negated || base.selector != 0) return Fail(token, "this is not an address");
    return base.kind != OperandKind::kRegister || Offset(address);
  }

  BodyState& state_;
  std::vector<Operand>* operands_;
};

}  // namespace

bool ParseOperand(BodyState& state, std::vector<Operand>* operands) { return OperandParser(state, operands).Parse(); }

bool ParseLabelOperand(BodyState& state, std::vector<Operand>* operands) {
  const auto name = ParseName(state.context, state.tokens, "a label");
  if (!name) return false;
  Operand label;
  label.kind = OperandKind::kLabel;
  label.index = state.scopes.ReferToLabel(name->text, name->position);
  operands->push_back(label);
  return true;
}

}  // namespace tutti::ptx
