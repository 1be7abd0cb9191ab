#include "program.h"

#include <algorithm>
#include <functional>

#include "ptx/parser.h"
#include "text.h"

namespace semantics {
namespace {

constexpr uint32_t kLiving = 8;

constexpr const char* kHead = R"(.version 9.0
.target sm_100a
.address_size 64
.const .align 16 .b32 numbers[16] = {1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47};
.global .align 16 .b32 table[16] = {0xffffffff, 0x80000000, 0x7fffffff, 0, 1, 2, 3, 4, 100, 1000, 10000, 100000, 0xdeadbeef, 0xcafe, 12, 34};
.func (.param .b32 result) mix(.param .b32 a, .param .b32 b)
{
.reg .b32 %r<4>;
ld.param.b32 %r0, [a];
ld.param.b32 %r1, [b];
mad.lo.u32 %r2, %r0, 1664525, %r1;
xor.b32 %r2, %r2, %r0;
st.param.b32 [result], %r2;
ret;
}
.func (.param .b32 result) fold(.param .b32 a, .param .b32 b)
{
.reg .pred %p<2>;
.reg .b32 %r<6>;
ld.param.b32 %r0, [a];
ld.param.b32 %r1, [b];
and.b32 %r1, %r1, 3;
mov.b32 %r2, %r0;
setp.eq.u32 %p0, %r1, 0;
@%p0 bra leave;
sub.u32 %r3, %r1, 1;
mul.lo.u32 %r4, %r0, 3;
{ .param .b32 x; .param .b32 y; .param .b32 z; st.param.b32 [x], %r4; st.param.b32 [y], %r3; call (z), fold, (x, y); ld.param.b32 %r2, [z]; }
add.u32 %r2, %r2, %r1;
leave:
st.param.b32 [result], %r2;
ret;
}
.func (.reg .b32 %out) spread(.reg .b32 %x, .reg .b64 %y)
{
.reg .b32 %lo, %hi;
mov.b64 {%lo, %hi}, %y;
prmt.b32 %lo, %lo, %x, 0x5140;
add.u32 %out, %lo, %hi;
ret;
}
.func (.reg .v2 .b32 %out) turn(.reg .v2 .b32 %pair, .reg .b32 %by)
{
shf.l.wrap.b32 %out.x, %pair.x, %pair.y, %by;
mov.b32 %out.y, %pair.x;
xor.b32 %pair.x, %pair.x, %by;
ret;
}
.global .u64 ways[2] = {mix, fold};
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 scratch, .param .align 8 .b8 given[16])
{
.shared .align 16 .b8 shared_bytes[8192];
.local .align 16 .b8 local_bytes[64];
.reg .pred %p<8>;
.reg .b32 %x<8>, %t<8>;
.reg .b64 %in, %in2, %in4, %in8, %in16, %out, %out2, %out4, %out8, %own, %a<4>;
ld.param.u64 %in, [in];
ld.param.u64 %out, [out];
ld.param.u64 %own, [scratch];
mov.u32 %t0, %tid.x;
mov.u32 %t1, %ctaid.x;
)";

// `piece` is called for every piece of text, in order, with the statement it is of.
template <typename F>
void ForEachPiece(const std::vector<Statement>& statements, F piece) {
  for (const Statement& statement : statements) {
    if (statement.dropped) continue;
    piece(statement, statement.text);
    ForEachPiece(statement.children, piece);
    piece(statement, statement.between);
    ForEachPiece(statement.others, piece);
    piece(statement, statement.end);
  }
}

void ForEach(const std::vector<Statement>& statements, const std::function<void(const Statement&)>& f) {
  for (const Statement& statement : statements) {
    if (statement.dropped) continue;
    f(statement);
    ForEach(statement.children, f);
    ForEach(statement.others, f);
  }
}

}  // namespace

std::string PlaceFor(const std::string& text, uint32_t threads) {
  std::string placed;
  size_t from = 0;
  for (size_t at = text.find("*T"); at != std::string::npos; at = text.find("*T", from)) {
    size_t number = at;
    while (text[number - 1] >= '0' && text[number - 1] <= '9') --number;
    uint32_t place = static_cast<uint32_t>(std::stoul(text.substr(number, at - number))) * threads;
    placed.append(text, from, number - from);
    from = at + 2;
    if (text[from] == '+') {
      size_t digits = 0;
      place += static_cast<uint32_t>(std::stoul(text.substr(from + 1), &digits));
      from += 1 + digits;
    }
    placed += std::to_string(place);
  }
  return placed.append(text, from);
}

bool Program::Names(uint32_t x) const {
  const std::string name = "%x" + std::to_string(x);
  bool found = false;
  ForEachPiece(statements,
               [&](const Statement&, const std::string& piece) { found |= piece.find(name) != std::string::npos; });
  return found;
}

std::string Program::Beginning() const {
  std::string text = kHead;
  text += "mad.wide.u32 %in, %t1, " + std::to_string(kInputBytes) + "*T, %in;\nmad.wide.u32 %out, %t1, " +
          std::to_string(output_bytes) + "*T, %out;\nmad.wide.u32 %own, %t1, " + std::to_string(kScratchBytes) +
          "*T, %own;\nmad.wide.u32 %own, %t0, " + std::to_string(kScratchBytes) + ", %own;\n";
  for (const char* width : {"2", "4", "8"})
    text += Fill("mad.wide.u32 %in$0, %t0, $0, %in;\nmad.wide.u32 %out$0, %t0, $0, %out;\n", {width});
  text += "mad.wide.u32 %in16, %t0, 16, %in;\n";
  for (uint32_t i = 0; i < kLiving; ++i) {
    if (Names(i)) text += Fill("ld.global.b32 %x$0, [%in4+$1*T];\n", {std::to_string(i), std::to_string(16 * i + 4)});
  }
  return text;
}

std::string Program::Pattern() const {
  std::string text = Beginning();
  ForEachPiece(statements, [&](const Statement&, const std::string& piece) { text += piece; });
  for (uint32_t i = 0; i < kLiving; ++i) {
    if (Names(i)) text += Fill("st.global.b32 [%out4+$1*T], %x$0;\n", {std::to_string(i), std::to_string(4 * i)});
  }
  return text + "ret;\n}\n";
}

const Statement* Program::At(uint32_t line) const {
  const auto lines = [](const std::string& text) { return static_cast<uint32_t>(std::ranges::count(text, '\n')); };
  uint32_t next = 1 + lines(Beginning());
  const Statement* found = nullptr;
  ForEachPiece(statements, [&](const Statement& statement, const std::string& piece) {
    const uint32_t end = next + lines(piece);
    if (line >= next && line < end) found = &statement;
    next = end;
  });
  return found;
}

std::vector<Result> Program::Results() const {
  std::vector<Result> results;
  for (uint32_t i = 0; i < kLiving; ++i) {
    if (Names(i)) results.push_back({.offset = 4 * i});
  }
  ForEach(statements, [&](const Statement& statement) {
    results.insert(results.end(), statement.results.begin(), statement.results.end());
  });
  return results;
}

std::vector<Statement*> Program::All() {
  std::vector<Statement*> all;
  const std::function<void(std::vector<Statement>&)> visit = [&](std::vector<Statement>& list) {
    for (Statement& statement : list) {
      all.push_back(&statement);
      visit(statement.children);
      visit(statement.others);
    }
  };
  visit(statements);
  return all;
}

std::set<tutti::ptx::Opcode> Program::Opcodes() const {
  std::set<tutti::ptx::Opcode> opcodes;
  const auto module = tutti::ptx::Parse(Text());
  if (!module) return opcodes;
  for (const auto& function : module->functions) {
    for (const auto& instruction : function.instructions) opcodes.insert(instruction.opcode);
  }
  return opcodes;
}

}  // namespace semantics
