#include "compiler/lower/testing/synthesize.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "compiler/lower/llvm.h"
#include "compiler/lower/lower.h"
#include "fmt/format.h"
#include "ptx/parser.h"

namespace tutti::compiler::lowering {
namespace {

// The words of a form: its mnemonic, its types in order, and all of them as a set.
struct Form {
  std::string mnemonic;
  std::vector<ptx::Type> types;
  std::set<std::string> words;
  bool Has(const char* word) const { return words.contains(word); }
  ptx::Type type(size_t n) const { return types.empty() ? ptx::Type::kB32 : types[std::min(n, types.size() - 1)]; }
};

Form Split(std::string_view text) {
  Form form;
  size_t start = 0;
  while (start <= text.size()) {
    const size_t end = std::min(text.find('.', start), text.size());
    const std::string word(text.substr(start, end - start));
    if (start == 0) form.mnemonic = word;
    form.words.insert(word);
    if (const auto type = ptx::TypeFromName(word); type && start != 0) form.types.push_back(*type);
    start = end + 1;
  }
  return form;
}

std::string Reg(ptx::Type type, int n) {
  if (type == ptx::Type::kPred) return fmt::format("%p{}", n);
  if (type == ptx::Type::kF32) return fmt::format("%f{}", n);
  if (type == ptx::Type::kF64) return fmt::format("%g{}", n);
  const uint32_t bits = ptx::BitsOf(type);
  return fmt::format("{}{}", bits == 64 ? "%d" : bits == 32 ? "%r" : "%h", n);
}
std::string R(int n) { return Reg(ptx::Type::kB32, n); }
std::string P(int n) { return Reg(ptx::Type::kPred, n); }

std::string List(ptx::Type type, int count, int first) {
  std::string list = "{";
  for (int i = 0; i < count; ++i) list += (i == 0 ? "" : ", ") + Reg(type, first + i);
  return list + "}";
}

std::string AddressIn(const Form& form) {
  if (form.Has("param")) return "[q]";
  return form.Has("shared") || form.Has("shared::cta") || form.Has("shared::cluster") ? "[%r1]" : "[%d1]";
}

ptx::Type Doubled(ptx::Type type) {
  switch (ptx::BitsOf(type)) {
    case 16: return ptx::Type::kU32;
    default: return ptx::Type::kU64;
  }
}

int VectorOf(const Form& form) { return form.Has("v2") ? 2 : form.Has("v4") ? 4 : form.Has("v8") ? 8 : 1; }

std::string Values(const Form& form, int first) {
  const int count = VectorOf(form);
  return count == 1 ? Reg(form.type(0), first) : List(form.type(0), count, first);
}

// How many of the operands that may be left out the form has.
size_t OptionalOperands(const Form& form) {
  if (form.Has("and") || form.Has("or") || form.Has("xor")) return form.mnemonic == "setp" ? 1 : 0;
  const bool combines = form.Has("add") || form.Has("min") || form.Has("max");
  if (form.mnemonic.starts_with('v')) return combines ? 1 : 0;  // video
  const bool packs = form.mnemonic == "cvt" && ptx::BitsOf(form.type(0)) < 2 * ptx::BitsOf(form.type(1)) &&
                     form.type(1) == ptx::Type::kF32 && ptx::NameOf(form.type(0)).ends_with("x2");
  return packs ? 1 : 0;
}

// By ptx/operand_shape.def, which says what the letters mean.
std::string ShapedOperand(char letter, const Form& form, int n) {
  const ptx::Type first = form.type(0), last = form.types.empty() ? first : form.types.back();
  switch (letter) {
    case 'e':
    case 'u': return Reg(last, n);
    case 'W':
    case 'w': return Reg(form.Has("wide") ? Doubled(first) : first, n);
    case 'N':
    case 'n': return R(n);
    case 'P':
    case 'p': return P(n);
    case 'a': return AddressIn(form);
    default: return Reg(first, n);
  }
}

std::string ShapedOperands(std::string_view pattern, const Form& form) {
  const size_t required = std::min(pattern.find('?'), pattern.size());
  std::string letters(pattern.substr(0, required));
  if (required < pattern.size()) letters += pattern.substr(required + 1, OptionalOperands(form));
  std::string text;
  for (size_t i = 0; i < letters.size(); ++i) {
    text += (i == 0 ? "" : ", ") + ShapedOperand(letters[i], form, static_cast<int>(i + 1));
  }
  return text;
}

// Nothing: the opcode has no row.
std::optional<std::string_view> PatternOf(std::string_view mnemonic) {
  static const std::map<std::string_view, std::string_view> kPatterns = [] {
    std::map<std::string_view, std::string_view> patterns;
#define TUTTI_PTX_SHAPE(opcode, pattern) patterns[ptx::NameOf(ptx::Opcode::opcode)] = pattern;
#include "ptx/operand_shape.def"
#undef TUTTI_PTX_SHAPE
    return patterns;
  }();
  const auto found = kPatterns.find(mnemonic);
  if (found == kPatterns.end()) return std::nullopt;
  return found->second;
}

std::string MemoryOperands(const Form& form) {
  const std::string address = AddressIn(form);
  const bool hint = form.Has("L2::cache_hint");
  if (form.mnemonic == "ld" || form.mnemonic == "ldu") {
    return Values(form, 8) + ", " + (form.Has("param") ? "[p0]" : address) + (hint ? ", %d7" : "");
  }
  if (form.mnemonic == "st") return address + ", " + Values(form, 8) + (hint ? ", %d7" : "");
  std::string text = form.mnemonic == "atom" ? Values(form, 8) + ", " : "";
  text += address + ", " + Values(form, 16);
  return form.Has("cas") ? text + ", " + Reg(form.type(0), 24) : text;
}

std::string WarpOperands(const Form& form) {
  if (form.mnemonic == "vote") return (form.Has("ballot") ? R(1) : P(1)) + ", %p2, %r2";
  return form.Has("sync") ? "%r1|%p1, %r2, %r3, %r4, %r5" : "%r1|%p1, %r2, %r3, %r4";  // shfl
}

std::string BarrierOperands(const Form& form) {
  if (form.Has("warp")) return "%r1";
  if (form.Has("cluster")) return "";
  if (form.Has("red")) return (form.Has("popc") ? R(1) : P(1)) + ", 0, %p2";
  return form.Has("arrive") ? "0, 64" : "0";
}

std::string CopyOperands(const Form& form) {
  if (form.Has("commit_group") || form.Has("wait_all")) return "";
  if (form.Has("wait_group")) return "0";
  if (form.Has("mbarrier")) return "[%r1]";
  if (form.Has("bulk")) return "[%r1], [%d1], %r2, [%r3]";
  return "[%r1], [%d1], 16";
}

std::string MbarrierOperands(const Form& form) {
  if (form.Has("init")) return "[%r1], %r2";
  if (form.Has("inval")) return "[%r1]";
  if (form.Has("arrive")) return "%d2, [%r1]";
  if (form.Has("test_wait") || form.Has("try_wait")) return form.Has("parity") ? "%p1, [%r1], %r2" : "%p1, [%r1], %d2";
  return "[%r1], %r2";
}

// Registers of a wmma fragment, as the ISA counts them.
int FragmentRegisters(const Form& form, ptx::Type type, bool is_a, bool is_b) {
  const bool wide = is_a ? form.Has("m32n8k16") : form.Has("m8n32k16");
  const bool narrow = is_a ? form.Has("m8n32k16") : form.Has("m32n8k16");
  if (type == ptx::Type::kF64) return is_a || is_b ? 1 : 2;
  if (!is_a && !is_b) return type == ptx::Type::kF16 ? 4 : 8;
  if (type == ptx::Type::kF16) return 8;
  if (type == ptx::Type::kBF16) return wide ? 8 : narrow ? 2 : 4;
  if (type == ptx::Type::kTF32) return 4;
  return wide ? 4 : narrow ? 1 : 2;
}
ptx::Type FragmentType(ptx::Type type) {
  if (type == ptx::Type::kF64 || type == ptx::Type::kF32) return type;
  return ptx::Type::kB32;
}

std::string WmmaOperands(const Form& form) {
  if (form.Has("mma")) {
    const bool four = form.types.size() == 4;
    const ptx::Type d = form.type(0), a = four ? form.type(1) : ptx::Type::kF16,
                    b = four ? form.type(2) : ptx::Type::kF16;
    const ptx::Type c = form.type(four ? 3 : 1);
    return List(FragmentType(d), FragmentRegisters(form, d, false, false), 1) + ", " +
           List(FragmentType(a), FragmentRegisters(form, a, true, false), 10) + ", " +
           List(FragmentType(b), FragmentRegisters(form, b, false, true), 20) + ", " +
           List(FragmentType(c), FragmentRegisters(form, c, false, false), 30);
  }
  const bool is_a = form.Has("a"), is_b = form.Has("b");
  const std::string list = List(FragmentType(form.type(0)), FragmentRegisters(form, form.type(0), is_a, is_b), 10);
  return form.Has("store") ? AddressIn(form) + ", " + list + ", %r2" : list + ", " + AddressIn(form) + ", %r2";
}

std::string MmaOperands(const Form& form) {
  const bool f64 = form.type(1) == ptx::Type::kF64;
  const bool small = form.Has("m16n8k8") && form.type(1) != ptx::Type::kTF32;
  const int a = f64 ? 1 : small ? 2 : 4;
  const int sums = f64 || form.type(0) == ptx::Type::kF16 ? 2 : 4;
  return List(FragmentType(form.type(0)), sums, 1) + ", " + List(FragmentType(form.type(1)), a, 10) + ", " +
         List(FragmentType(form.type(2)), (a + 1) / 2, 20) + ", " + List(FragmentType(form.type(3)), sums, 30);
}

using Operands = std::string (*)(const Form& form);

std::string Nothing(const Form&) { return ""; }
std::string Label(const Form&) { return "DONE"; }
std::string Lookup(const Form&) { return "%r1, %r2, %r3, %r4, 0x96"; }
std::string Address(const Form& form) { return AddressIn(form); }
std::string Call(const Form&) { return "f, ()"; }
std::string Load8x8(const Form& form) {
  return List(ptx::Type::kB32, form.Has("x4") ? 4 : form.Has("x2") ? 2 : 1, 10) + ", [%r1]";
}

// Of instructions whose operands depend on their modifiers, or that have no row in the table.
const std::map<std::string, Operands>& Mnemonics() {
  static const std::map<std::string, Operands> kTable = {
      {"lop3", Lookup},         {"ld", MemoryOperands},
      {"ldu", MemoryOperands},  {"st", MemoryOperands},
      {"atom", MemoryOperands}, {"red", MemoryOperands},
      {"vote", WarpOperands},   {"shfl", WarpOperands},
      {"bar", BarrierOperands}, {"barrier", BarrierOperands},
      {"membar", Nothing},      {"fence", Nothing},
      {"cp", CopyOperands},     {"mbarrier", MbarrierOperands},
      {"prefetch", Address},    {"griddepcontrol", Nothing},
      {"bra", Label},           {"ret", Nothing},
      {"exit", Nothing},        {"trap", Nothing},
      {"call", Call},           {"wmma", WmmaOperands},
      {"mma", MmaOperands},     {"ldmatrix", Load8x8},
  };
  return kTable;
}

}  // namespace

std::optional<std::string> SynthesizeStatement(std::string_view text) {
  const Form form = Split(text);
  const auto found = Mnemonics().find(form.mnemonic);
  const auto pattern = PatternOf(form.mnemonic);
  if (found == Mnemonics().end() && !pattern) return std::nullopt;
  const std::string operands = found != Mnemonics().end() ? found->second(form) : ShapedOperands(*pattern, form);
  return std::string(text) + (operands.empty() ? "" : " " + operands) + ";";
}

std::string SynthesizeModule(std::string_view statement) {
  return fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.func f() {{ ret; }}
.visible .entry k(.param .align 16 .b8 p0[64]) {{
  .reg .pred %p<40>;
  .reg .b16 %h<40>;
  .reg .b32 %r<40>;
  .reg .b64 %d<40>;
  .reg .f32 %f<40>;
  .reg .f64 %g<40>;
  {{
  .param .align 16 .b8 q[64];
  {}
  }}
DONE:
  ret;
}}
)",
                     statement);
}

std::string WhyNotLowered(std::string_view form) {
  const auto statement = SynthesizeStatement(form);
  if (!statement) return "not supported";
  const auto module = ptx::Parse(SynthesizeModule(*statement));
  if (!module) return module.error().text;
  const auto layout = ModuleLayout::Make(*module);
  if (!layout) return layout.error().text;
  for (uint32_t f = 0; f < module->functions.size(); ++f) {
    if (!module->functions[f].is_entry) continue;
    llvm::LLVMContext context;
    LowerDiagnostics diagnostics;
    LowerOptions options;
    options.optimize = false;
    const auto result = LowerKernel(context, *module, f, *layout, options, diagnostics);
    return result ? "" : result.error().text;
  }
  return "no kernel";
}

}  // namespace tutti::compiler::lowering
