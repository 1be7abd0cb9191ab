#include "forms.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "ptx/opcode.h"

namespace semantics {
namespace {

using tutti::ptx::BitsOf;
using tutti::ptx::IsFloat;
using tutti::ptx::Type;

struct Row {
  const char* pattern;
  const char* operands;
  Sources sources;
};
constexpr Row kRows[] = {
#define TUTTI_FORM(pattern, operands, sources) {pattern, operands, Sources::sources},
#include "forms.def"
#undef TUTTI_FORM
};

std::string ShapeOf(const std::string& opcode) {
  static const std::map<std::string, std::string> shapes = [] {
    std::map<std::string, std::string> map;
#define TUTTI_PTX_SHAPE(opcode, pattern) map[std::string(NameOf(tutti::ptx::Opcode::opcode))] = pattern;
#include "ptx/operand_shape.def"
#undef TUTTI_PTX_SHAPE
    return map;
  }();
  std::string shape = shapes.at(opcode);
  return shape.substr(0, shape.find('?'));
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::vector<Type> TypesOf(const std::string& name) {
  std::vector<Type> types;
  for (const std::string& word : Split(name, '.')) {
    if (const auto type = tutti::ptx::TypeFromName(word)) types.push_back(*type);
  }
  return types;
}

// .sat is for conversions that can leave the range of their result.
bool Exists(const std::string& name) {
  if (!name.starts_with("cvt.sat.")) return true;
  const std::vector<Type> types = TypesOf(name);
  if (types.size() != 2 || IsFloat(types[0]) || IsFloat(types[1])) return true;
  const bool to_signed = tutti::ptx::IsSigned(types[0]), from_signed = tutti::ptx::IsSigned(types[1]);
  const uint32_t to = BitsOf(types[0]), from = BitsOf(types[1]);
  return from_signed ? !to_signed || from > to : from > to - (to_signed ? 1 : 0);
}

void Expand(const std::vector<std::string>& words, size_t at, const std::string& name, const Row& row,
            std::vector<Form>& forms) {
  if (at == words.size()) {
    if (!Exists(name)) return;
    std::string operands = row.operands;
    if (operands.empty()) operands = ShapeOf(name.substr(0, name.find('.')));
    forms.push_back({name, operands, row.sources});
    return;
  }
  for (std::string word : Split(words[at], '|')) {
    std::ranges::replace(word, '+', '.');
    Expand(words, at + 1, word.empty() ? name : at == 0 ? word : name + "." + word, row, forms);
  }
}

// The registers that hold a type, and how they are loaded and stored.
std::string RegisterType(Type type) {
  switch (type) {
    case Type::kF32: return "f32";
    case Type::kF64: return "f64";
    case Type::kPred: return "pred";
    default: return "b" + std::to_string(std::max(16u, BitsOf(type)));
  }
}

// Of such a register.
uint32_t BytesOf(const std::string& as) { return static_cast<uint32_t>(std::stoul(as.substr(1))) / 8; }

bool IsNarrowInteger(Type type) { return type == Type::kU8 || type == Type::kS8; }

Kind KindOf(Type type, Sources sources) {
  const bool wide = type == Type::kF64, half = BitsOf(type) == 16 || type == Type::kF16x2 || type == Type::kBF16x2;
  if (sources == Sources::kAngle) return Kind::kAngle;
  if (sources == Sources::kTame)
    return wide ? Kind::kTameDouble : half && IsFloat(type) ? Kind::kTameHalf : Kind::kTame;
  if (wide) return Kind::kDouble;
  if (type == Type::kF32 || type == Type::kF32x2) return Kind::kFloat;
  return IsFloat(type) && half ? Kind::kHalf : Kind::kInteger;
}

Type Doubled(Type type) {
  switch (type) {
    case Type::kU16:
    case Type::kS16: return Type::kB32;
    default: return Type::kB64;
  }
}

constexpr const char* kNumbers[] = {"0",  "1",  "2",  "3",  "7",   "15",     "16",     "31",
                                    "32", "33", "63", "64", "255", "0x7fff", "0x8000", "0xffff"};

}  // namespace

const std::vector<Form>& Forms() {
  static const std::vector<Form> forms = [] {
    std::vector<Form> all;
    for (const Row& row : kRows) Expand(Split(row.pattern, '.'), 0, "", row, all);
    return all;
  }();
  return forms;
}

const std::vector<std::vector<Form>>& FormsByOpcode() {
  static const std::vector<std::vector<Form>> groups = [] {
    std::map<std::string, std::vector<Form>> by_opcode;
    for (const Form& form : Forms()) by_opcode[form.name.substr(0, form.name.find('.'))].push_back(form);
    std::vector<std::vector<Form>> all;
    for (auto& [opcode, forms] : by_opcode) all.push_back(std::move(forms));
    return all;
  }();
  return groups;
}

uint32_t Reserve(uint32_t& output_bytes) {
  const uint32_t offset = output_bytes;
  output_bytes += 16;
  return offset;
}

std::string Input(Random& random, Kind kind, uint32_t bytes) {
  const uint32_t entry = 16 * (8 * static_cast<uint32_t>(kind) + random.Below(8)),
                 inside = bytes * random.Below(16 / bytes);
  if (bytes == 16 || random.OneIn(8)) return "[%in16+" + std::to_string(entry) + "*T+" + std::to_string(inside) + "]";
  return "[%in" + std::to_string(bytes) + "+" + std::to_string(entry + inside) + "*T]";
}

std::string Output(const Result& result) {
  return "[%out" + std::to_string(StoredBytes(result.type)) + "+" + std::to_string(result.offset) + "*T]";
}

Statement MakeForm(const Form& form, Random& random, uint32_t& output_bytes) {
  const std::vector<Type> types = TypesOf(form.name);
  const Type first = types.front(), last = types.back();
  std::string declarations, loads, operands, stores;
  Statement statement{.form = form.name};
  const bool guarded = random.OneIn(8);
  // Conversions of bf16 take registers of no other width.
  const bool exact_registers = form.name.starts_with("cvt") && form.name.find("bf16") != std::string::npos;
  size_t number = 0;
  const auto source = [&](Type type, bool may_be_number) {
    const std::string name = "s" + std::to_string(number++);
    const bool is_last = number == form.operands.size() - 1;
    if (may_be_number && !IsFloat(type) && type != Type::kU16x2 && type != Type::kS16x2 && !exact_registers &&
        type != Type::kPred && BitsOf(type) <= 64 && form.sources != Sources::kDivisor &&
        form.sources != Sources::kNarrow && random.OneIn(6)) {
      // Places and lengths of bit fields are bytes.
      const bool byte = form.name.starts_with("bf");
      operands +=
          (operands.empty() ? "" : ", ") + std::string(byte ? kNumbers[random.Below(13)] : random.From(kNumbers));
      return;
    }
    operands += (operands.empty() ? "" : ", ") + name;
    if (type == Type::kPred) {
      declarations += ".reg .pred " + name + "; .reg .b32 " + name + "w;\n";
      loads += "ld.global.b32 " + name + "w, " + Input(random, Kind::kInteger, 4) + ";\nand.b32 " + name + "w, " +
               name + "w, 1;\nsetp.ne.b32 " + name + ", " + name + "w, 0;\n";
      return;
    }
    const bool narrow = IsNarrowInteger(type) && !exact_registers;
    const std::string as = narrow ? "b32" : RegisterType(type);
    declarations += ".reg ." + as + " " + name + ";\n";
    const uint32_t bytes = BytesOf(as);
    loads += "ld.global." + as + " " + name + ", " + Input(random, KindOf(type, form.sources), bytes) + ";\n";
    if (form.sources == Sources::kDivisor && is_last) {  // positive
      const std::string bits = std::to_string(BitsOf(type));
      loads += "shr.u" + bits + " " + name + ", " + name + ", 1;\nmax.u" + bits + " " + name + ", " + name + ", 1;\n";
    }
    if (form.sources == Sources::kNarrow && number == 2) loads += "and.b32 " + name + ", " + name + ", 31;\n";
    if (type == Type::kE2M3x2 || type == Type::kE3M2x2) loads += "and.b16 " + name + ", " + name + ", 0x3f3f;\n";
  };
  const auto destination = [&](Type type, const std::string& name, bool wider) {
    const bool widens =
        wider && !exact_registers && !IsFloat(type) && BitsOf(type) < 32 && (IsNarrowInteger(type) || random.OneIn(4));
    const std::string as = widens ? "b32" : RegisterType(type);
    declarations += ".reg ." + as + " " + name + ";\n";
    operands += (operands.empty() ? "" : name == "e" ? "|" : ", ") + name;
    Result result{
        .offset = Reserve(output_bytes), .type = widens ? Type::kB32 : type, .tolerance = ToleranceOf(form.name)};
    if (type == Type::kPred) result.type = Type::kB32;
    const std::string at = Output(result);
    if (type == Type::kPred) {
      declarations += ".reg .b32 " + name + "w;\n";
      stores += "selp.b32 " + name + "w, 1, 0, " + name + ";\nst.global.b32 " + at + ", " + name + "w;\n";
      if (guarded) loads += "setp.ne.b32 " + name + ", %x0, %x1;\n";
    } else {
      if (guarded)
        loads +=
            "ld.global." + as + " " + name + ", " + Input(random, KindOf(type, Sources::kTame), BytesOf(as)) + ";\n";
      stores += "st.global." + as + " " + at + ", " + name + ";\n";
    }
    statement.results.push_back(result);
  };
  for (const char letter : form.operands) {
    switch (letter) {
      case 'D': destination(first, "d", false); break;
      case 'L': destination(first, "d", true); break;
      case 'N': destination(Type::kB32, "d", false); break;
      case 'P': destination(Type::kPred, "d", false); break;
      case 'Q': destination(Type::kPred, "e", false); break;
      case 'W': destination(form.name.find(".wide") != std::string::npos ? Doubled(first) : first, "d", false); break;
      case 's':
      case 't': source(first, true); break;
      case 'e':
      case 'u': source(last, true); break;
      case 'w': source(form.name.find(".wide") != std::string::npos ? Doubled(first) : first, true); break;
      case 'n': source(Type::kB32, true); break;
      case 'p': source(Type::kPred, false); break;
      case 'i': operands += ", " + std::to_string(random.Below(256)); break;
      default: break;
    }
  }
  std::string guard;
  if (guarded) {
    const bool negated = random.OneIn(2);
    loads += ".reg .pred g;\nsetp.lt.s32 g, %x" + std::to_string(random.Below(8)) + ", %x" +
             std::to_string(random.Below(8)) + ";\n";
    guard = negated ? "@!g " : "@g ";
  }
  statement.text = "{\n" + declarations + loads + guard + form.name + " " + operands + ";\n" + stores + "}\n";
  return statement;
}

}  // namespace semantics
