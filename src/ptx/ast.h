// The abstract syntax of a PTX module, with names already resolved: registers, labels and symbols are indices, so that
// lowering never looks anything up by text. Made by ptx/parser.h; printed by ptx/printer.h; immutable afterwards.
//
// Positions are kept for every instruction (line and column of the PTX text) and, where the text has .loc directives,
// the source line, for diagnostics and fault reports.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/modifier.h"  // enum class Modifier, from modifier.def
#include "ptx/opcode.h"    // enum class Opcode, from opcode.def
#include "ptx/short_list.h"

namespace tutti::ptx {

struct SourcePosition {
  uint32_t line = 0;    // 1-based, in the PTX text
  uint32_t column = 0;  // 1-based
};

// clang-format off
enum class Type : uint8_t {
  kNone,
  kB8, kB16, kB32, kB64, kB128,
  kU8, kU16, kU32, kU64,
  kS8, kS16, kS32, kS64,
  kF16, kF16x2, kBF16, kBF16x2, kTF32, kE4M3x2, kE5M2x2, kE4M3, kE5M2, kF32, kF64,
  kU16x2, kS16x2, kF32x2,
  kU4, kS4, kB1, kE3M2, kE2M3, kE2M1, kUE8M0,  // matrix element types only
  kE3M2x2, kE2M3x2, kE2M1x2, kUE8M0x2,
  kE4M3x4, kE5M2x4, kE3M2x4, kE2M3x4, kE2M1x4,
  kU2, kS2, kUE4M3,
  kB8x16, kB6x16P32, kB4x16P64,  // formats of matrices in memory
  kPred,
  kTexref, kSamplerref, kSurfref,
};
// clang-format on
uint32_t BitsOf(Type type);  // 0 for kNone and references; 1 for kPred
bool IsFloat(Type type);
bool IsSigned(Type type);
std::string_view NameOf(Type type);  // "u32"
std::optional<Type> TypeFromName(std::string_view name);

enum class StateSpace : uint8_t { kGeneric, kReg, kGlobal, kShared, kConst, kLocal, kParam, kSharedCluster };
std::string_view NameOf(StateSpace space);  // "shared"; empty for kGeneric
std::optional<StateSpace> StateSpaceFromName(std::string_view name);

using RegisterId = uint32_t;
using SymbolId = uint32_t;  // index into Module::symbols
using LabelId = uint32_t;   // index into Function::labels

// Names that a nested scope declares again get a suffix ("%p1$2"), so that within a function names are unique.
// Registers that no instruction mentions are left out.
struct Register {
  std::string name;  // "%r12"
  Type type = Type::kNone;
};

// Initial value of a variable at module scope.
struct Initializer {
  std::vector<uint8_t> bytes;  // little-endian; shorter than the variable: the rest is zero
  struct AddressOf {
    uint64_t offset;   // where in the variable
    SymbolId symbol;   // variable or function
    int64_t addend;
    bool generic;      // generic(sym)
  };
  std::vector<AddressOf> addresses;  // 8-byte slots (4-byte slots are refused)
};

// Variables at module scope have a Symbol. What a function declares (.local, .shared, .param in its body, and its own
// parameters) are its LocalVariables.
enum class Linkage : uint8_t { kNone, kExtern, kVisible, kWeak, kCommon };

struct Variable {
  std::string name;
  StateSpace space = StateSpace::kGlobal;
  Linkage linkage = Linkage::kNone;
  Type type = Type::kB8;
  uint32_t vector = 1;       // .v2, .v4
  uint64_t count = 1;        // elements (product of the dimensions); 0: unsized (.extern .shared x[])
  uint32_t alignment = 1;    // bytes; natural if not given
  bool managed = false;      // .attribute(.managed)
  Initializer init;
  SourcePosition position;
  uint64_t bytes() const;    // of the whole variable; 0 if unsized
};

enum class OperandKind : uint8_t {
  kRegister,
  kImmediate,   // integer or float bits in `bits`
  kAddress,     // [base + offset]: base is a register, a symbol, a local or nothing. [tex, {x, y}] and the like: the
                // `count` operands after this one stand in the same brackets
  kSymbol,      // address of a module variable or function (+ offset): mov, call target
  kLocal,       // a LocalVariable (+ offset): mov of its address, call argument
  kLabel,       // bra target
  kVector,      // { a, b, ... }: range [first, first + count) of Function::vector_operands
  kSpecial,     // %tid.x ...: SpecialRegister
  kSink,        // _
};

// clang-format off
enum class SpecialRegister : uint8_t {
  kTidX, kTidY, kTidZ, kNtidX, kNtidY, kNtidZ, kCtaidX, kCtaidY, kCtaidZ, kNctaidX, kNctaidY, kNctaidZ,
  kLaneid, kWarpid, kNwarpid, kSmid, kNsmid, kGridid,
  kLanemaskEq, kLanemaskLe, kLanemaskLt, kLanemaskGe, kLanemaskGt,
  kClock, kClockHi, kClock64, kGlobaltimer, kGlobaltimerLo, kGlobaltimerHi,
  kEnvreg0, kEnvreg1, kEnvreg2, kEnvreg3,  // further envregs read as zero: kEnvreg0
  kTotalSmemSize, kDynamicSmemSize, kReservedSmemOffset,
  kClusteridX, kClusteridY, kClusteridZ, kNclusteridX, kNclusteridY, kNclusteridZ,
  kClusterCtaidX, kClusterCtaidY, kClusterCtaidZ, kClusterNctaidX, kClusterNctaidY, kClusterNctaidZ,
  kClusterCtarank, kClusterNctarank, kIsExplicitCluster, kAggrSmemSize,
  kCurrentGraphExec, kWarpSz,
};
// clang-format on
std::string_view NameOf(SpecialRegister special);  // "%tid.x"
std::optional<SpecialRegister> SpecialRegisterFromName(std::string_view name);

enum class BaseKind : uint8_t { kNone, kRegister, kSymbol, kLocal };

struct Operand {
  OperandKind kind = OperandKind::kSink;
  BaseKind base = BaseKind::kNone;  // kAddress only
  bool negated = false;             // "!%p" as a source operand; "-%r" of vmad
  bool is_float = false;            // kImmediate: `bits` are those of an f64 (0d) or f32 (0f) literal
  bool is_f32 = false;              // kImmediate with is_float: written as 0f
  uint32_t index = 0;               // register, symbol, local, label, special, or first vector element
  uint32_t count = 0;               // kVector: elements; kAddress: further operands in its brackets
  uint32_t selector = 0;            // video instructions only: ".b3", ".h1", ".b7610": see PackSelector
  int64_t offset = 0;               // kAddress, kSymbol, kLocal
  uint64_t bits = 0;                // kImmediate
};

// A video operand's selector: its digits as nibbles, the first in bits 0..3, their number in bits 16..19, and bit 20
// set for halves (.h). 0: none.
constexpr uint32_t PackSelector(std::string_view digits, bool halves) {
  uint32_t packed = static_cast<uint32_t>(digits.size()) << 16 | (halves ? 1u << 20 : 0);
  for (size_t i = 0; i < digits.size(); ++i) packed |= static_cast<uint32_t>(digits[i] - '0') << (4 * i);
  return packed;
}

struct Guard {  // @p or @!p
  RegisterId predicate = 0;
  bool negated = false;
};

enum class WordGroup : uint8_t { kModifier = 0, kSpace = 1, kVector = 2, kType = 3 };

// One instruction. Operands are in the order of the text, destinations first. A second predicate destination
// ("p|q", "%r16|%p1") is the operand after the one it follows, and `has_second_destination` is set.
// call: operands are the target (kSymbol or kRegister), then returns, then arguments; see `call_returns` and
// `call_arguments`. Every other operand is a kLocal (a .param), a register, an immediate or kSink.
struct Instruction {
  Opcode opcode = Opcode::kTrap;
  ShortList<Modifier, 14> modifiers;  // everything between the dots that is neither type nor state space, in order
  ShortList<Type, 5> types;           // in order: cvt.rn.f32.s32 -> {F32, S32}
  StateSpace space = StateSpace::kGeneric;
  StateSpace second_space = StateSpace::kGeneric;  // cp.async.shared.global, cvta.to: destination first
  uint8_t vector = 1;               // .v2 .v4 .v8
  uint64_t word_order = 0;          // for printing: 2 bits per word of the mnemonic, the first lowest: a WordGroup
  bool has_second_destination = false;
  std::optional<Guard> guard;
  std::vector<Operand> operands;
  uint32_t call_returns = 0;
  uint32_t call_arguments = 0;
  uint32_t prototype = ~0u;         // indirect call: index into Function::prototypes
  uint32_t branch_targets = ~0u;    // brx.idx: index into Function::branch_targets
  SourcePosition position;
  uint32_t source_line = 0;         // from .loc; 0 unknown
  uint32_t source_file = 0;         // from .loc: index into Module::files

  bool Has(Modifier modifier) const { return modifiers.contains(modifier); }
  Type type() const { return types.empty() ? Type::kNone : types.front(); }
};

struct LocalVariable {
  std::string name;
  StateSpace space =
      StateSpace::kLocal;  // kLocal, kShared, kParam; kReg: a parameter that is the register `register_id`
  RegisterId register_id = 0;
  Type type = Type::kB8;
  uint32_t vector = 1;
  uint64_t count = 1;           // 0: unsized
  uint32_t alignment = 1;
  uint64_t bytes() const;
};

struct Prototype {              // .callprototype, and the shape of every function
  std::vector<LocalVariable> returns;
  std::vector<LocalVariable> params;
  bool noreturn = false;
};

struct Label {
  std::string name;
  uint32_t instruction = 0;     // index of the instruction it stands before (== instructions.size() at the end)
};

struct Pragma {                 // advice to an optimiser, and nothing else: "nounroll"
  uint32_t instruction = 0;     // index of the instruction it stands before
  std::string text;
};

struct Function {
  std::string name;
  SymbolId symbol = 0;
  bool is_entry = false;
  Linkage linkage = Linkage::kNone;
  bool noreturn = false;
  bool has_body = false;
  bool body_parsed = false;         // false with has_body: `error` says why
  Prototype prototype;              // LocalVariable index i of a parameter: see first_param
  std::vector<LocalVariable> locals;  // returns, then params, then what the body declares
  uint32_t first_return = 0, first_param = 0;  // in locals
  std::vector<Register> registers;
  std::vector<Label> labels;
  std::vector<Instruction> instructions;
  std::vector<Operand> vector_operands;
  std::vector<Prototype> prototypes;  // .callprototype declarations
  std::vector<Pragma> pragmas;        // by instruction
  std::vector<std::vector<LabelId>> branch_targets;  // .branchtargets declarations
  std::array<uint32_t, 3> max_threads{};       // .maxntid; 0: not given
  std::array<uint32_t, 3> required_threads{};  // .reqntid
  std::array<uint32_t, 3> required_cluster{};  // .reqnctapercluster
  uint32_t min_blocks = 0;                     // .minnctapersm
  uint32_t max_registers = 0;                  // .maxnreg
  bool explicit_cluster = false;               // .explicitcluster
  uint32_t max_cluster = 0;                    // .maxclusterrank: blocks
  bool blocks_are_clusters = false;            // .blocksareclusters
  SourcePosition position;
  uint32_t unit = 0;  // of a linked module: the translation unit that it is from
  std::string error;  // not empty: the body could not be parsed; the text says why, with line and caret
};

struct Symbol {
  std::string name;
  enum class Kind : uint8_t { kVariable, kFunction } kind = Kind::kVariable;
  uint32_t index = 0;  // in Module::variables or Module::functions
};

struct Module {
  uint32_t version_major = 0, version_minor = 0;
  std::string target;  // "sm_80", as written
  uint32_t address_bits = 64;
  std::vector<std::string> files;  // .file, by number
  std::vector<Symbol> symbols;
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

}  // namespace tutti::ptx
