// Indices of 32 bits whose parts may wrap although the whole does not, which become addresses of 64 bits in several
// ways: what the compiler knows of an index's lanes decides whether an access is one of a vector, and where it is
// checked.
#include <iterator>

#include "makers.h"
#include "text.h"

namespace semantics {
namespace {

// Of the thread to "i", below 1,000 for each of 64 threads.
constexpr const char* kOfThreads[] = {
    "mov.b32 i, %t0;\n",
    "mul.lo.u32 i, %t0, 3;\n",
    "shl.b32 i, %t0, 2;\n",
    "sub.u32 i, 1*T, %t0;\n",
    "shl.b32 i, %t0, 1;\nor.b32 i, i, 1;\n",
    "shr.u32 i, %t0, 3;\n",
    "mov.u32 i, %ntid.x;\nsub.u32 i, i, %t0;\nmul.lo.u32 i, i, 5;\n",
    "and.b32 i, %t0, 7;\nmad.lo.u32 i, i, 9, %t1;\n",
    "xor.b32 i, %t0, 5;\n",
    "mov.u32 i, %laneid;\n",
};

// What is undone later: by which number ("$0"), or by what the compiler does not know ("u", "v": the same).
struct Detour {
  const char* there;
  const char* back;
  bool odd = false;  // the number is; "$1" is its inverse
};
constexpr Detour kDetours[] = {
    {"add.u32 i, i, $0;\n", "sub.u32 i, i, $0;\n"},
    {"sub.u32 i, i, $0;\n", "add.u32 i, i, $0;\n"},
    {"sub.u32 i, $0, i;\n", "sub.u32 i, $0, i;\n"},
    {"xor.b32 i, i, $0;\n", "xor.b32 i, i, $0;\n"},
    {"mul.lo.u32 i, i, $0;\n", "mul.lo.u32 i, i, $1;\n", true},
    {"not.b32 i, i;\n", "not.b32 i, i;\n"},
    {"neg.s32 i, i;\n", "neg.s32 i, i;\n"},
    {"shf.l.wrap.b32 i, i, i, 9;\n", "shf.l.wrap.b32 i, i, i, 23;\n"},
    {"add.u32 i, i, u;\n", "sub.u32 i, i, v;\n"},
    {"sub.u32 i, u, i;\n", "sub.u32 i, v, i;\n"},
    {"xor.b32 i, i, u;\n", "xor.b32 i, i, v;\n"},
    {"add.u32 i, i, %t0;\n", "sub.u32 i, i, %t0;\n"},
    {"mad.lo.u32 i, %t0, $0, i;\n", "mad.lo.u32 i, %t0, -$0, i;\n"},
};

// To "a", with the number of words that "i" is too high, $0, or too low, $1, taken back in 64 bits.
constexpr const char* kWidenTooHigh[] = {
    "mad.wide.u32 a, i, 4, %in;\nsub.u64 a, a, 4*$0;\n",
    "cvt.u64.u32 a, i;\nsub.u64 a, a, $0;\nshl.b64 a, a, 2;\nadd.u64 a, a, %in;\n",
    "mul.wide.s32 a, i, 4;\nadd.s64 a, a, %in;\nsub.s64 a, a, 4*$0;\n",
    "cvt.s64.s32 a, i;\nsub.s64 a, a, $0;\nmad.lo.s64 a, a, 4, %in;\n",
};
constexpr const char* kWidenTooLow[] = {
    "mul.wide.s32 a, i, 4;\nadd.s64 a, a, %in;\nadd.s64 a, a, 4*$0;\n",
    "cvt.s64.s32 a, i;\nadd.s64 a, a, $0;\nmad.lo.s64 a, a, 4, %in;\n",
    "mad.wide.s32 a, i, 4, %in;\nadd.u64 a, a, 4*$0;\n",
};

// Modulo 2^32, of an odd number: each round doubles the right bits.
uint32_t Inverse(uint32_t odd) {
  uint32_t inverse = odd;
  for (int i = 0; i < 4; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}

// "4*N" as a number.
std::string Words(std::string pattern, uint32_t words) {
  for (size_t at = pattern.find("4*$0"); at != std::string::npos; at = pattern.find("4*$0"))
    pattern.replace(at, 4, std::to_string(4ull * words));
  return Fill(pattern, {std::to_string(words)});
}

}  // namespace

Statement Maker::Indices() {
  Statement statement{.form = "indices"};
  const std::string at = Out(statement), skip = Label();
  std::string back;
  std::string& text = statement.text;
  text =
      "{\n.reg .b32 i, j, s, u, v; .reg .b64 a, b; .reg .pred p;\nld.global.b32 u, [%in];\nld.volatile.global.b32 "
      "v, [%in];\nmov.b32 s, 0;\n";
  text += random_.From(kOfThreads);
  for (uint32_t detours = random_.Below(4); detours > 0; --detours) {
    const Detour& detour = random_.From(kDetours);
    static constexpr uint32_t kNumbers[] = {1, 5, 31, 32, 64, 100, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0};
    const uint32_t number =
        (random_.OneIn(4) ? static_cast<uint32_t>(random_.Bits()) : random_.From(kNumbers)) | (detour.odd ? 1u : 0u);
    const std::vector<std::string> numbers = {std::to_string(static_cast<int32_t>(number)),
                                              std::to_string(static_cast<int32_t>(Inverse(number)))};
    std::string there = detour.there, home = detour.back;
    if (const size_t minus = home.find("-$0"); minus != std::string::npos)
      home.replace(minus, 3, std::to_string(static_cast<int32_t>(-number)));
    text += Fill(there, numbers);
    back = Fill(home, numbers) + back;
  }
  text += back;
  // Who stays away: nobody, the first lanes, whose indices are below zero, or any, whose indices are anything.
  const bool above = random_.OneIn(2), some = !above && random_.OneIn(2), branches = random_.OneIn(2);
  if (above) {
    const uint32_t from = random_.Below(50), part = random_.Below(100);
    text += Fill("setp.ge.u32 p, i, $0;\nadd.u32 i, i, -$1;\n", {std::to_string(from), std::to_string(part)});
    const std::string rest = std::to_string(static_cast<int32_t>(part - from));
    text += random_.OneIn(3) ? Fill("add.u32 i, i, $0;\n", {rest})
                             : Fill("xor.b32 j, u, v;\nxor.b32 j, j, $0;\nadd.u32 i, i, j;\n", {rest});
  }
  if (some) text += Fill("setp.lt.s32 p, $0, $1;\nselp.b32 i, i, $2, p;\n", {X(), X(), X()});
  if ((above || some) && branches) text += Fill("@!p bra $0;\n", {skip});
  const uint32_t words = random_.OneIn(2) ? 0 : random_.OneIn(2) ? random_.Below(70) : random_.Below(1u << 29);
  if (random_.OneIn(2)) {
    text += "add.u32 i, i, " + std::to_string(words) + ";\n" + Words(random_.From(kWidenTooHigh), words);
  } else {
    text += "sub.u32 i, i, " + std::to_string(words) + ";\n" + Words(random_.From(kWidenTooLow), words);
  }
  if ((above || some) && !branches) text += "selp.b64 a, a, %in, p;\n";
  static constexpr const char* kReads[] = {"ld.global.b32 v, [a];\n", "ld.global.b32 v, [a];\n",
                                           "ld.global.u8 v, [a+3];\n",
                                           "and.b64 b, a, -8;\nld.global.v2.b32 {v, j}, [b];\nxor.b32 v, v, j;\n"};
  text += random_.From(kReads);
  text += "mad.lo.u32 s, s, 3, v;\n";
  if (random_.OneIn(3)) {
    // The neighbours' words, too, in a loop.
    const std::string again = Label();
    text += Fill(
        "mov.b32 j, 0;\n$0:\nadd.u64 a, a, 4;\nld.global.b32 v, [a];\nadd.u32 s, s, v;\nadd.u32 j, j, "
        "1;\nsetp.lt.u32 p, j, $1;\n@p bra $0;\n",
        {again, std::to_string(1 + random_.Below(5))});
  }
  text += Fill("$0:\nst.global.b32 $1, s;\n}\n", {skip, at});
  return statement;
}

}  // namespace semantics
