// Loops that threads leave in different rounds and by several ways, of which later code asks which it was: what the
// compiler knows behind them of what they count, and in which rounds it asks whether threads are left.
#include <iterator>

#include "makers.h"
#include "text.h"

namespace semantics {
namespace {

// To "n", the rounds' end.
constexpr const char* kEnds[] = {
    "mov.b32 n, $0;\n",
    "mov.b32 n, $0;\n",
    "ld.global.b32 n, [%in+$1];\nand.b32 n, n, 15;\n",
    "ld.global.b32 n, [%in+$1];\nand.b32 n, n, 15;\n",
    "and.b32 n, $2, 15;\n",
    "ld.global.b32 n, [%in+$1];\nand.b32 n, n, 15;\nneg.s32 n, n;\n",
    "ld.global.b32 n, [%in+$1];\nor.b32 n, n, -8;\n",
    "mov.b32 n, 0;\n",
};
// To "j", where it begins.
constexpr const char* kBegins[] = {
    "mov.b32 j, 0;\n",
    "mov.b32 j, 0;\n",
    "mov.b32 j, 0;\n",
    "mov.b32 j, 1;\n",
    "mov.b32 j, -3;\n",
    "sub.u32 j, n, 5;\n",
    "and.b32 j, $0, 3;\n",
    "sub.u32 j, n, 3;\n",
    "ld.global.b32 j, [%in+$1];\nand.b32 j, j, 3;\n",
    "mov.b32 j, 0x7ffffffd;\n",
    "and.b32 j, $0, 7;\nsub.u32 j, n, j;\n",
};
// Where the text is that is read at "j" from it, to "a".
constexpr const char* kTexts[] = {
    "add.u64 a, %in, %own;\nsub.u64 a, a, %own;\n",
    "mad.wide.u32 a, %t0, 4, %in;\n",
    "mad.wide.u32 a, %t0, 4, %in;\n",
    "and.b32 v, $0, 1020;\ncvt.u64.u32 a, v;\nadd.u64 a, a, %in;\n",
    "shr.u32 v, %t0, 4;\nmad.wide.u32 a, v, 64, %in;\n",
};
constexpr const char* kBytes = "cvt.u64.u32 a, %t0;\nadd.u64 a, a, %in;\n";
// At "b", of the round's place "k" (below 16) or of the address that moves, to "v".
struct Read {
  const char* text;
  const char* moves;  // in each round
};
constexpr Read kReads[] = {
    {"mad.wide.u32 b, k, 4, $0;\nld.global.b32 $1, [b];\n", ""},
    {"mad.wide.u32 b, k, 4, $0;\nld.global.u8 $1, [b+2];\n", ""},
    {"mul.wide.u32 b, k, 4;\nadd.u64 b, b, $0;\nld.global.u16 $1, [b];\nld.global.u8 k, [b+3];\nxor.b32 $1, $1, k;\n",
     ""},
    {"ld.global.b32 $1, [$0];\n", "add.u64 $0, $0, 4;\n"},
    {"ld.global.u8 $1, [$0];\n", "add.u64 $0, $0, 4;\n"},
    {"ld.volatile.global.b32 $1, [$0];\n", "add.u64 $0, $0, 4;\n"},
    {"mad.wide.u32 b, k, 4, $0;\n@p ld.global.b32 $1, [b];\n", ""},
};
constexpr Read kReadsOfBytes[] = {
    {"ld.global.u8 $1, [$0];\n", "add.u64 $0, $0, 1;\n"},
    {"cvt.u64.u32 b, k;\nadd.u64 b, b, $0;\nld.global.u8 $1, [b];\n", ""},
};
constexpr const char* kCompared[] = {"setp.ne.u32 p, v, w;\n",
                                     "setp.eq.u32 p, v, w;\n",
                                     "setp.gt.u32 p, v, w;\n",
                                     "setp.lt.s32 q, v, w;\nnot.pred p, q;\n",
                                     "setp.ne.u32 p, v, w;\nsetp.gt.and.u32 p, r, 1, p;\n",
                                     "{ .reg .f32 f, g; mov.b32 f, v; mov.b32 g, w; setp.neu.f32 p, f, g; }\n",
                                     "{ .reg .f32 f, g; mov.b32 f, v; mov.b32 g, w; setp.lt.f32 p, f, g; }\n"};
constexpr const char* kInRound[] = {
    "",
    "",
    "mad.lo.u32 s, s, 3, v;\n",
    "add.u32 s, s, w;\n",
    "div.u32 s, s, 3;\n",
    "or.b32 k, v, 1;\nrem.u32 s, v, k;\n",
    "shl.b32 k, v, j;\nxor.b32 s, s, k;\n",
    "@q add.u32 s, s, 1;\n",
    "st.global.b32 [%own+2048], j;\n",
    "red.global.add.u32 [%own+2052], 3;\n",
    "{ .reg .f32 f; cvt.rn.f32.u32 f, s; add.f32 f, f, 0f3F000000; cvt.rzi.u32.f32 s, f; "
    "}\n"};
constexpr const char* kSteps[] = {"1", "1", "1", "1", "2", "3", "-1", "0x40000000"};
constexpr const char* kGoesOn[] = {"ne.u32", "ne.u32", "ne.u32", "lt.u32", "lt.s32", "ls.u32", "le.s32", "gt.s32"};
constexpr const char* kAsked[] = {"eq.u32", "eq.u32", "ne.u32", "lt.u32", "ge.s32", "lt.s32", "hi.u32"};

}  // namespace

Statement Maker::Searches() {
  Statement statement{.form = "searches"};
  const std::string again = Label(), leave = Label(), other = Label(), behind = Label(), end = Label();
  const std::string at0 = Out(statement), at1 = Out(statement), at2 = Out(statement);
  const bool is_again = random_.OneIn(4);  // in a loop of its own
  // One way out that only some threads take: such a loop asks in every fourth round whether threads are left.
  const bool is_plain = !random_.OneIn(3);
  const std::string outer = Label();
  std::string& text = statement.text;
  const auto number = [&](uint32_t below) { return std::to_string(random_.Below(below)); };
  text =
      "{\n.reg .b32 o, i, j, k, n, r, s, v, w; .reg .b64 a, b, c, d; .reg .pred p, q, g;\nmov.b32 s, 0;\nmov.b32 w, "
      "0;\nmov.b32 v, 0;\nmov.b32 o, 0;\nsetp.eq.u32 p, o, 0;\nsetp.lt.u32 q, %t0, 40;\n";
  if (is_again) text += outer + ":\n";
  text += Fill(is_plain ? kEnds[random_.Below(4)] : random_.From(kEnds),
               {std::to_string(1 + random_.Below(12)), std::to_string(4 * random_.Below(64)), X()});
  text +=
      Fill(is_plain ? kBegins[random_.Below(6)] : random_.From(kBegins), {X(), std::to_string(4 * random_.Below(64))});
  const bool are_bytes = is_plain || random_.OneIn(2);
  text += Fill(are_bytes ? kBytes : random_.From(kTexts), {X()});
  text += Fill("add.u64 a, a, $0;\nadd.u64 c, %in, $1;\nmov.b32 r, 0;\n",
               {std::to_string(4 * random_.Below(500)), std::to_string(4 * random_.Below(500))});
  if (random_.OneIn(2)) text += Fill("setp.eq.u32 p, n, j;\n@p bra $0;\n", {random_.OneIn(2) ? end : behind});
  text += again + ":\n";
  const uint32_t mask = random_.OneIn(3) ? 3 : random_.OneIn(2) ? 1 : 7;
  const auto masked = [&](const char* value) { return Fill("and.b32 $0, $0, $1;\n", {value, std::to_string(mask)}); };
  const Read& of_text = are_bytes ? random_.From(kReadsOfBytes) : random_.From(kReads);
  const Read& of_word = random_.OneIn(3) ? random_.From(kReads) : random_.From(kReadsOfBytes);
  text += "and.b32 k, j, 15;\n" + Fill(of_text.text, {"a", "v"}) + masked("v");
  if (random_.OneIn(3)) {
    text += "mov.b32 w, " + number(mask + 1) + ";\n";
  } else {
    text += "and.b32 k, j, 15;\n" + Fill(of_word.text, {"c", "w"}) + masked("w") + Fill(of_word.moves, {"c"});
  }
  text += Fill(of_text.moves, {"a"});
  text += is_plain ? kCompared[0] : random_.From(kCompared);
  text += Fill("@p bra $0;\n", {random_.OneIn(3) ? other : leave});
  text += is_plain ? kInRound[random_.Below(4)] : random_.From(kInRound);
  if (!is_plain && random_.OneIn(3))
    text += Fill("setp.eq.u32 g, v, $0;\n@g bra $1;\n", {number(mask + 1), random_.OneIn(2) ? other : leave});
  if (!is_plain && random_.OneIn(4)) text += Fill("setp.gt.u32 p, s, $0;\n@p bra $1;\n", {number(40), behind});
  text += Fill("add.u32 r, r, 1;\nadd.u32 j, j, $0;\n", {random_.From(kSteps)});
  // It ends, whatever it counts.
  const std::string rounds = Fill("setp.ge.u32 p, r, $0;\n@p bra $1;\n",
                                  {std::to_string(17 + random_.Below(3)), random_.OneIn(2) ? end : leave});
  const bool at_end = random_.OneIn(2);
  if (random_.OneIn(2)) {
    text += rounds + Fill("setp.$0 p, j, n;\n@p bra $1;\n", {random_.From(kGoesOn), again});
    if (at_end) text += Fill("bra $0;\n", {random_.OneIn(2) ? end : leave});
  } else {
    text += Fill("setp.$0 p, j, n;\n@!p bra $1;\n", {random_.From(kGoesOn), random_.OneIn(2) ? end : leave}) + rounds;
    text += Fill("bra $0;\n", {again});
  }
  text += Fill(
      "add.u32 s, s, 1000;\nbra $0;\n$1:\nadd.u32 s, s, 7;\n$2:\nxor.b32 s, s, 0x100;\nbra $3;\n$4:\nadd.u32 s, s, "
      "70;\n$3:\n",
      {leave, end, leave, behind, other});
  text += Fill("setp.$0 g, j, n;\n", {random_.From(kAsked)});
  text += random_.OneIn(2) ? Fill("@g add.u32 s, s, $0;\n", {number(100)})
                           : Fill("@g bra $0_b;\nadd.u32 s, s, w;\nxor.b32 s, s, 0x5000;\n$0_b:\n", {behind});
  if (random_.OneIn(2)) text += Fill("setp.$0 p, n, j;\n@p xor.b32 s, s, 0x30000;\n", {random_.From(kAsked)});
  if (is_again)
    text +=
        Fill("add.u32 o, o, 1;\nsetp.lt.u32 p, o, $0;\n@p bra $1;\n", {std::to_string(2 + random_.Below(3)), outer});
  text += Fill("st.global.b32 $0, s;\n", {at0});
  text += random_.OneIn(2) ? Fill("st.global.b32 $0, j;\n", {at1}) : Fill("st.global.b32 $0, n;\n", {at1});
  text += random_.OneIn(2) ? Fill("st.global.b32 $0, v;\n}\n", {at2})
                           : Fill("selp.b32 v, 1, 2, g;\nst.global.b32 $0, v;\n}\n", {at2});
  return statement;
}

}  // namespace semantics
