#include "ptx/verifier.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <span>
#include <string_view>

#include "ptx/verify_video.h"
#include "ptx/verify_words.h"

namespace tutti::ptx {
namespace {

constexpr uint64_t kMaxStackAlignment = 1u << 23;  // of alloca

struct ShapeRow {
  Opcode opcode;
  std::string_view pattern;
};

constexpr ShapeRow kShapes[] = {
#define TUTTI_PTX_SHAPE(opcode, pattern) {Opcode::opcode, pattern},
#include "ptx/operand_shape.def"
#undef TUTTI_PTX_SHAPE
};

constexpr auto kPatternOf = [] {
  std::array<std::string_view, 256> patterns{};
  for (const ShapeRow& row : kShapes) patterns[static_cast<size_t>(row.opcode)] = row.pattern;
  return patterns;
}();

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

// Instructions that can have more than an address in their brackets.
bool TakesBracketList(Opcode opcode) {
  switch (opcode) {
    case Opcode::kTex:
    case Opcode::kTld4:
    case Opcode::kTxq:
    case Opcode::kSuld:
    case Opcode::kSust:
    case Opcode::kSured:
    case Opcode::kCp:
    case Opcode::kPrefetch: return true;
    default: return false;
  }
}

class InstructionVerifier {
 public:
  InstructionVerifier(const Module& module, const Function& function, const Instruction& instruction)
      : module_(module), function_(function), instruction_(instruction) {}

  // Empty if the instruction is valid.
  std::string Check() {
    for (const Operand& operand : instruction_.operands) CheckCommon(operand);
    if (error_.empty() && instruction_.has_second_destination) CheckSecondDestination();
    if (error_.empty()) CheckByOpcode();
    if (error_.empty()) CheckPattern(Pattern());
    if (error_.empty()) error_ = WrongWords(instruction_, Pattern());
    if (error_.empty()) error_ = WrongVideo(instruction_);
    return error_.empty() ? error_ : fmt::format("{}: {}", NameOf(instruction_.opcode), error_);
  }

 private:
  void Fail(std::string text) {
    if (error_.empty()) error_ = std::move(text);
  }

  std::span<const Operand> Elements(const Operand& vector) const {
    return std::span(function_.vector_operands).subspan(vector.index, vector.count);
  }
  Type RegisterType(const Operand& operand) const { return function_.registers[operand.index].type; }
  const std::string& RegisterName(const Operand& operand) const { return function_.registers[operand.index].name; }
  bool Has(Modifier modifier) const { return instruction_.Has(modifier); }

  // Forbidden in any instruction, whatever its shape.
  void CheckCommon(const Operand& operand) {
    if (operand.kind == OperandKind::kAddress) {
      if (operand.base == BaseKind::kRegister && BitsOf(RegisterType(operand)) < 32) {
        Fail(fmt::format("'{}' cannot hold an address", RegisterName(operand)));
      }
      if (operand.count != 0 && !TakesBracketList(instruction_.opcode)) Fail("one address in brackets, not a list");
    }
    if (operand.negated && (instruction_.opcode == Opcode::kVmad) == (RegisterType(operand) == Type::kPred)) {
      Fail("'!' needs a predicate register, and a minus sign stands at factors of vmad only");
    }
    if (operand.selector != 0 && !IsVideo(instruction_.opcode)) Fail("this instruction has no part selectors");
    if (operand.kind != OperandKind::kVector) return;
    for (const Operand& element : Elements(operand)) {
      const bool plain = element.kind == OperandKind::kRegister || element.kind == OperandKind::kImmediate ||
                         element.kind == OperandKind::kSink;
      if (!plain || element.selector != 0) Fail("an element of a vector must be a register or a number");
    }
  }

  void CheckSecondDestination() {
    const Operand& second = instruction_.operands[1];
    if (second.kind == OperandKind::kSink) return;
    if (second.kind != OperandKind::kRegister || RegisterType(second) != Type::kPred || second.negated) {
      Fail("the second destination must be a predicate register");
    }
  }

  void CheckByOpcode() {
    switch (instruction_.opcode) {
      case Opcode::kMov: return CheckMov();
      case Opcode::kLd:
      case Opcode::kLdu: return CheckTransfer(0);
      case Opcode::kSt:
        if (Has(Modifier::kBulk)) return;
        CheckTransfer(1);
        return CheckCount(2);
      case Opcode::kRed: CheckTransfer(1); return CheckCount(2);
      case Opcode::kCp:
        if (Has(Modifier::kBulk)) CheckBulkCopy();
        return;
      case Opcode::kAtom: return CheckAtom();
      case Opcode::kVote: return CheckPattern(Has(Modifier::kBallot) ? "Np?n" : "Pp?n");
      case Opcode::kBar:
      case Opcode::kBarrier: return CheckBarrier();
      case Opcode::kWmma:
        if (Has(Modifier::kLoad)) return CheckPattern("Va?n");
        if (Has(Modifier::kStore)) return CheckPattern("av?n");
        return CheckPattern("Vvvv");
      case Opcode::kCvt:
        if (IsOfFour()) CheckSourcesOfFour();
        return;
      case Opcode::kCall: return CheckCall();
      case Opcode::kAlloca:
      case Opcode::kStacksave:
      case Opcode::kStackrestore: return CheckStack();
      case Opcode::kSetp:
        if (instruction_.types.empty()) Fail("a type is missing");
        return;
      default: return;
    }
  }

  // As many operands as the function has, and the .param variables among them of the same sizes.
  void CheckCall() {
    const Operand& target = instruction_.operands[0];
    const Prototype* prototype = nullptr;
    if (target.kind == OperandKind::kSymbol) {
      prototype = &module_.functions[module_.symbols[target.index].index].prototype;
    } else if (instruction_.prototype == ~0u) {
      return Fail("an indirect call needs a prototype");
    } else {
      prototype = &function_.prototypes[instruction_.prototype];
      if (BitsOf(RegisterType(target)) != 64) Fail("the address of a function has 64 bits");
    }
    const std::span<const Operand> operands(instruction_.operands);
    CheckCallList(operands.subspan(1, instruction_.call_returns), prototype->returns, "results");
    CheckCallList(operands.subspan(1 + instruction_.call_returns), prototype->params, "parameters");
  }

  void CheckCallList(std::span<const Operand> given, const std::vector<LocalVariable>& wanted, std::string_view what) {
    if (given.size() != wanted.size())
      return Fail(fmt::format("the function has {} {}, not {}", wanted.size(), what, given.size()));
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].kind == OperandKind::kLocal) {
        const uint64_t bytes = function_.locals[given[i].index].bytes();
        if (wanted[i].count != 0 && bytes != wanted[i].bytes()) {
          Fail(fmt::format("'{}' has {} bytes where the function has {}", function_.locals[given[i].index].name, bytes,
                           wanted[i].bytes()));
        }
      } else if (given[i].kind == OperandKind::kRegister && BitsOf(RegisterType(given[i])) != BitsOf(wanted[i].type)) {
        Fail(fmt::format("'{}' is not of the size that the function has", RegisterName(given[i])));
      }
    }
  }

  void CheckStack() {
    if (instruction_.type() != Type::kU32 && instruction_.type() != Type::kU64) return Fail("the type is .u32 or .u64");
    if (instruction_.operands.empty() || instruction_.operands[0].kind != OperandKind::kRegister)
      return Fail("the first operand must be a register");
    if (instruction_.opcode != Opcode::kAlloca || instruction_.operands.size() < 3) return;
    const Operand& alignment = instruction_.operands[2];
    if (alignment.kind != OperandKind::kImmediate || alignment.is_float || !std::has_single_bit(alignment.bits) ||
        alignment.bits > kMaxStackAlignment) {
      Fail(fmt::format("the alignment must be a power of two up to {}", kMaxStackAlignment));
    }
  }

  // cvt.rs d, {a, b, e, f}, random
  bool IsOfFour() const {
    return instruction_.opcode == Opcode::kCvt && instruction_.operands.size() > 1 &&
           instruction_.operands[1].kind == OperandKind::kVector;
  }
  void CheckSourcesOfFour() {
    if (!Has(Modifier::kRs)) return Fail("only stochastic rounding takes a vector");
    for (const Operand& element : Elements(instruction_.operands[1])) {
      CheckExact(element, 32, "a source");
      if (element.kind == OperandKind::kSink) Fail("'_' is not a value");
    }
  }

  void CheckBarrier() {
    if (Has(Modifier::kCluster)) return CheckPattern("");
    if (Has(Modifier::kWarp)) return CheckPattern("n");
    if (!Has(Modifier::kRed)) return CheckPattern("n?n");
    const bool has_threads = instruction_.operands.size() == 4;
    if (Has(Modifier::kPopc)) return CheckPattern(has_threads ? "Nnnp" : "Nnp");
    CheckPattern(has_threads ? "Pnnp" : "Pnp");
  }

  void CheckAtom() {
    if (instruction_.operands.size() < 3) return Fail("operands are missing");
    if (Has(Modifier::kCas) && instruction_.operands.size() < 4) return Fail("operands are missing");
    if (instruction_.types.empty()) return Fail("a type is missing");
    CheckTransfer(0);
    CheckTransfer(2);
    if (Has(Modifier::kCas)) CheckTransfer(3);
  }

  // Operand `index` holds what is loaded or stored: a register at least as wide as the type, or a vector of them.
  void CheckTransfer(size_t index) {
    if (instruction_.operands.size() <= index) return Fail("operands are missing");
    if (instruction_.types.empty()) return Fail("a type is missing");
    const Operand& operand = instruction_.operands[index];
    const Type type = instruction_.types.back();
    if (instruction_.vector != 1 && BitsOf(type) == 128) return Fail("no vector has elements of 128 bits");
    if (operand.kind == OperandKind::kVector) {
      if (operand.count != instruction_.vector)
        return Fail(fmt::format("a vector of {} elements is needed", instruction_.vector));
      for (const Operand& element : Elements(operand)) CheckAtLeast(element, type);
    } else if (operand.kind == OperandKind::kSink) {
      return;
    } else if (instruction_.vector != 1) {
      Fail(fmt::format("a vector of {} elements is needed", instruction_.vector));
    } else {
      CheckAtLeast(operand, type);
    }
  }

  // `least` operands, and one more for each modifier that asks for one: an mbarrier that counts the bytes, a cache
  // policy, a mask of bytes. A program with others means something else than what it says.
  void CheckCount(size_t least) {
    size_t wanted = least;
    for (const Modifier asks : {Modifier::kMbarrierCompleteTxBytes, Modifier::kL2CacheHint, Modifier::kCpMask})
      wanted += Has(asks);
    if (instruction_.operands.size() != wanted)
      Fail(fmt::format("{} operands are needed, not {}", wanted, instruction_.operands.size()));
  }

  // Not those of tensors, nor the instructions that wait.
  void CheckBulkCopy() {
    if (Has(Modifier::kTensor) || Has(Modifier::kMulticastCluster) || Has(Modifier::kCommitGroup) ||
        Has(Modifier::kWaitGroup))
      return;
    CheckCount(Has(Modifier::kPrefetch) ? 2 : 3);
  }

  void CheckMov() {
    if (instruction_.operands.size() != 2) return Fail("2 operands are needed");
    if (instruction_.types.empty()) return Fail("a type is missing");
    const Type type = instruction_.type();
    const Operand& to = instruction_.operands[0];
    const Operand& from = instruction_.operands[1];
    if (to.kind == OperandKind::kVector && from.kind == OperandKind::kVector) {
      if (to.count != from.count) return Fail("vectors of different lengths");
      for (const Operand& element : Elements(to)) CheckExact(element, BitsOf(type), "the type");
      for (const Operand& element : Elements(from)) CheckExact(element, BitsOf(type), "the type");
      return;
    }
    CheckMovSide(to, type);
    if (from.kind == OperandKind::kSpecial || from.kind == OperandKind::kSymbol || from.kind == OperandKind::kLocal) {
      const bool is_predicate = from.kind == OperandKind::kSpecial &&
                                static_cast<SpecialRegister>(from.index) == SpecialRegister::kIsExplicitCluster;
      if (type == Type::kPred ? !is_predicate : BitsOf(type) < 16) Fail("this value does not fit the type");
      return;
    }
    CheckMovSide(from, type);
  }

  // All of the type, or the pieces it is packed from or unpacked to.
  void CheckMovSide(const Operand& operand, Type type) {
    if (operand.kind != OperandKind::kVector) return CheckExact(operand, BitsOf(type), "the type");
    if (operand.count == 0 || BitsOf(type) % operand.count != 0) return Fail("this vector does not fit the type");
    for (const Operand& element : Elements(operand))
      CheckExact(element, BitsOf(type) / operand.count, "its part of the type");
  }

  void CheckExact(const Operand& operand, uint32_t bits, std::string_view what) {
    if (operand.kind == OperandKind::kImmediate || operand.kind == OperandKind::kSink) return;
    if (operand.kind != OperandKind::kRegister) return Fail("a register or a number is needed");
    const Type type = RegisterType(operand);
    if (BitsOf(type) == bits) return;
    Fail(fmt::format("'{}' has {} bits, {} has {}", RegisterName(operand), BitsOf(type), what, bits));
  }

  void CheckAtLeast(const Operand& operand, Type type) {
    if (operand.kind == OperandKind::kImmediate || operand.kind == OperandKind::kSink) return;
    if (operand.kind == OperandKind::kSpecial && instruction_.opcode == Opcode::kCvt) return;
    if (operand.kind != OperandKind::kRegister) return Fail("a register or a number is needed");
    const Type own = RegisterType(operand);
    if ((own == Type::kPred) == (type == Type::kPred) && BitsOf(own) >= BitsOf(type)) return;
    Fail(fmt::format("'{}' is a .{} register, too small for .{}", RegisterName(operand), NameOf(own), NameOf(type)));
  }

  // A source '_' has been refused before.
  void CheckPredicate(const Operand& operand) {
    if (operand.kind == OperandKind::kImmediate || operand.kind == OperandKind::kSink) return;
    if (operand.kind == OperandKind::kRegister && RegisterType(operand) == Type::kPred) return;
    Fail("a predicate register is needed");
  }

  void CheckPattern(std::string_view pattern) {
    if (pattern.empty()) return;
    const std::span<const Operand> operands = instruction_.operands;
    size_t at = 0;
    bool optional = false;
    for (const char letter : pattern) {
      if (letter == '?') {
        optional = true;
        continue;
      }
      if (at == operands.size()) {
        if (!optional) Fail("operands are missing");
        return;
      }
      CheckLetter(letter, operands[at]);
      at += at == 0 && instruction_.has_second_destination ? 2 : 1;
    }
    if (at < operands.size()) Fail("too many operands");
  }

  // That of the opcode, but for forms of it that take operands of their own.
  std::string_view Pattern() const {
    if (instruction_.opcode == Opcode::kCvt && Has(Modifier::kRs)) return IsOfFour() ? "Lvn" : "Luun";
    return kPatternOf[static_cast<size_t>(instruction_.opcode)];
  }

  bool NeedsTypes(char letter) const { return std::string_view("DseLtuWw").contains(letter); }

  void CheckLetter(char letter, const Operand& operand) {
    if (NeedsTypes(letter) && instruction_.types.empty()) return Fail("a type is missing");
    if (letter == 'a') {
      if (operand.kind != OperandKind::kAddress) Fail("an address in brackets is needed");
      return;
    }
    if (letter == 'v') {
      if (operand.kind == OperandKind::kSink && instruction_.opcode != Opcode::kMma) Fail("'_' is not a value");
      return;
    }
    if (letter == 'V') return CheckDestination(operand, true);
    if (IsUpper(letter)) {
      CheckDestination(operand, false);
    } else if (operand.kind == OperandKind::kSink) {
      return Fail("'_' is not a value");
    }
    switch (letter) {
      case 'D':
      case 's': return CheckValue(operand, instruction_.types.front());
      case 'e': return CheckValue(operand, instruction_.types.back());
      case 'L':
      case 't': return CheckAtLeast(operand, instruction_.types.front());
      case 'u': return CheckAtLeast(operand, instruction_.types.back());
      case 'W':
      case 'w':
        if (!Has(Modifier::kWide)) return CheckValue(operand, instruction_.type());
        return CheckExact(operand, 2 * BitsOf(instruction_.type()), "the product");
      case 'N':
      case 'n': return CheckExact(operand, 32, "this operand");
      default: return CheckPredicate(operand);
    }
  }

  void CheckDestination(const Operand& operand, bool vector_allowed) {
    if (operand.kind == OperandKind::kSink) return;
    if (operand.kind == OperandKind::kVector && vector_allowed) {
      for (const Operand& element : Elements(operand)) {
        if (element.kind == OperandKind::kImmediate || element.negated) Fail("a destination must be a register");
      }
    } else if (operand.kind != OperandKind::kRegister || operand.negated) {
      Fail("a destination must be a register");
    }
  }

  void CheckValue(const Operand& operand, Type type) {
    if (operand.kind == OperandKind::kImmediate) {
      if (!operand.is_float && (type == Type::kF32 || type == Type::kF64)) Fail("a floating-point number is needed");
      return;
    }
    CheckExact(operand, BitsOf(type), "the type");
  }

  const Module& module_;
  const Function& function_;
  const Instruction& instruction_;
  std::string error_;
};

}  // namespace

std::optional<Diagnostic> Verify(const Module& module, const Function& function) {
  for (const Instruction& instruction : function.instructions) {
    std::string wrong = InstructionVerifier(module, function, instruction).Check();
    if (!wrong.empty()) return Diagnostic{instruction.position, std::move(wrong)};
  }
  return std::nullopt;
}

}  // namespace tutti::ptx
