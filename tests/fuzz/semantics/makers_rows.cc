// Rows of which one thread's leads, most times, out of the memory that there is: by where it begins or ends, by what it
// has loaded, or by an address that is no multiple. So it is known which thread ends with a fault, and where; or, where
// an index wraps, or a guard is in front of the access, that none does.
#include "makers.h"
#include "text.h"

namespace semantics {

namespace {

struct Element {
  const char* load;  // to "v", from [a]
  const char* store;
  uint32_t bytes;
};
constexpr Element kElements[] = {
    {"ld$0.$1.b32 v, [a];\n", "st.$0.b32 [a], s;\n", 4},
    {"ld$0.$1.b32 v, [a];\n", "red.$0.add.u32 [a], s;\n", 4},
    {"ld$0.$1.u8 v, [a];\n", "st.$0.u8 [a], s;\n", 1},
    {"ld$0.$1.s16 v, [a];\n", "st.$0.u16 [a], s;\n", 2},
    {"{ .reg .b64 w; .reg .b32 h; ld$0.$1.b64 w, [a]; mov.b64 {v, h}, w; xor.b32 v, v, h; }\n",
     "{ .reg .b64 w; mov.b64 w, {s, s}; st.$0.b64 [a], w; }\n", 8},
    {"{ .reg .b32 h; ld$0.$1.v2.b32 {v, h}, [a]; sub.u32 v, v, h; }\n", "st.$0.v2.b32 [a], {s, s};\n", 8},
    {"{ .reg .b32 h<3>; ld$0.$1.v4.b32 {v, h0, h1, h2}, [a]; xor.b32 v, v, h2; sub.u32 v, v, h0; }\n",
     "st.$0.v4.b32 [a], {s, s, s, s};\n", 16},
};

// To "a", of "i", which is less than the index by $1; elements have $0 bytes, and memory begins at "b".
constexpr const char* kAddresses[] = {
    "add.u32 o, i, $1;\nmad.wide.u32 a, o, $0, b;\n",
    "mad.wide.s32 a, i, $0, b;\nadd.u64 a, a, $1*$0;\n",
    "add.u32 o, i, $1;\nmul.lo.u32 o, o, $0;\ncvt.u64.u32 a, o;\nadd.u64 a, a, b;\n",
    "add.u32 o, i, $1;\ncvt.u64.u32 a, o;\nmul.lo.u64 a, a, $0;\nadd.u64 a, a, b;\n",
};

constexpr uint32_t kSharedBytes = 8192;

constexpr const char* kSums[] = {"add.u32 s, s, v;\n", "mad.lo.u32 s, s, 33, v;\n", "xor.b32 s, s, v;\n"};

}  // namespace

// All of the block's, by all of its threads.
std::string Maker::FillShared() {
  std::string text = "{\n.reg .b32 d;\nmov.b32 d, shared_bytes;\nmad.lo.u32 d, %t0, 128, d;\n";
  for (int i = 0; i < 128; i += 16)
    text += Fill("st.shared.v4.b32 [d+$0], {$1, $2, $3, %t0};\n", {std::to_string(i), X(), X(), X()});
  return text + "bar.sync 0;\n}\n";
}

// One round: the access, and the next "i".
std::string Maker::WildRound(const WildRow& row, const std::string& end) {
  std::string round;
  if (!row.moves) round += row.address;
  const std::string next = Label();
  if (row.guard != 0)
    round += Fill("add.u32 o, i, $0;\nsetp.ge.u32 q, o, $1;\n@q bra $2;\n",
                  {std::to_string(row.before), std::to_string(row.guard), next});
  round += row.access;
  if (row.loads) round += random_.From(kSums);
  if (row.follows)
    round += "and.b32 o, v, m;\nmad.wide.u32 wide, o, 4, %in;\nld.global.b32 o, [wide];\nadd.u32 s, s, o;\n";
  if (row.leaves) round += Fill("and.b32 o, s, 31;\nsetp.eq.u32 q, o, 7;\n@q bra $0;\n", {end});
  round += next + ":\n";
  if (row.moves) round += Fill("add.u64 a, a, $0;\n", {std::to_string(row.step * static_cast<int>(row.bytes))});
  return round + Fill("add.u32 i, i, $0;\n", {std::to_string(row.step)});
}

Statement Maker::WildRows(bool downwards) {
  Statement statement{.form = "wild row"};
  const std::string again = Label(), end = Label(), rest = Label(), no_rest = Label(), at0 = Out(statement),
                    at1 = Out(statement), thread = std::to_string(random_.Below(64));
  const Element& element = random_.From(kElements);
  WildRow row{.bytes = element.bytes, .step = downwards ? -1 : 1};
  const bool is_unrolled = !downwards && random_.OneIn(3);
  if (!is_unrolled && random_.OneIn(4)) row.step *= 1 + static_cast<int>(random_.Below(3));
  row.loads = random_.OneIn(4) == 0;
  row.before = random_.OneIn(2) ? 0 : random_.OneIn(2) ? 512 : random_.Below(1 << 30);
  row.moves = !random_.OneIn(3);  // which compilers make of most
  row.leaves = !is_unrolled && row.loads && random_.OneIn(4);
  row.follows = row.loads && !downwards && random_.OneIn(4);
  row.in_shared = random_.OneIn(4);
  const uint32_t all = (row.in_shared ? kSharedBytes : kInputBytes * kThreads) / row.bytes;
  if (!downwards && row.loads && random_.OneIn(5)) row.guard = all;
  row.address = Fill(random_.From(kAddresses), {std::to_string(row.bytes), std::to_string(row.before)});
  const std::string space = row.in_shared ? "shared" : "global", strong = random_.OneIn(6) ? ".volatile" : "";
  row.access = row.loads ? Fill(element.load, {strong, space}) : Fill(element.store, {space});

  const std::string x = X(), y = X();
  const std::string outer = random_.OneIn(3) ? Label() : "";  // a loop around the row, unless empty
  std::string text = Fill(
      "{\n.reg .b32 i, e, o, v, s, m, n, j; .reg .b64 a, b, wide; .reg .pred p, q, z;\nmov.b32 s, $0;\nmov.b32 j, 0;\n",
      {random_.OneIn(2) ? X() : "0"});
  if (!outer.empty()) text += outer + ":\n";
  text += Fill(
      "setp.eq.u32 z, %t0, $0;\nmov.b64 b, $1;\nshr.u32 i, $2, j;\nand.b32 i, i, $3;\nand.b32 e, $4, 7;\nmov.b32 m, "
      "4095;\nmov.b32 v, 0;\n",
      {thread,
       row.in_shared ? "shared_bytes"
       : row.loads   ? "%in"
                     : "%own",
       x,
       !row.loads      ? "63"
       : row.in_shared ? "255"
                       : "1023",
       y});
  if (!outer.empty()) text += Fill("setp.eq.and.u32 z, j, $0, z;\n", {std::to_string(random_.Below(3))});
  if (row.in_shared) text = FillShared() + text;
  const bool asks_first = random_.OneIn(3);
  if (!asks_first || is_unrolled || random_.OneIn(2)) text += "add.u32 e, e, 1;\n";
  if (row.step != 1) text += Fill("mul.lo.u32 e, e, $0;\n", {std::to_string(row.step)});
  text += "add.u32 e, e, i;\n";
  if (downwards) text += "add.u32 i, i, 32;\nadd.u32 e, e, 32;\n";
  const uint32_t wild_begins[] = {0x10000000, 0x3fffffff, 0x40000000, 0x40000005, 0x7ffffff0, 0x80000000, 0xc0000000};
  const uint32_t wild_lengths[] = {0x10000000, 0x40000000, 0x7fffffff, 0x80000000, 0xfffffff0, 0xfffff000};
  if (row.guard != 0) {
    text += Fill("@z mov.b32 i, $0;\n@z mov.b32 e, $1;\n", {std::to_string(all - 20), std::to_string(all + 40)});
  } else {
    switch (random_.Below(5)) {
      case 0: text += Fill("@z mov.b32 i, $0;\n", {std::to_string(random_.From(wild_begins))}); break;
      case 1:
        text += Fill("@z mov.b32 i, $0;\n@z add.u32 e, i, 3;\n", {std::to_string(random_.From(wild_begins))});
        break;
      case 2:
        text += Fill("@z add.u32 e, i, $0;\n",
                     {std::to_string(downwards ? 0u - random_.From(wild_lengths) : random_.From(wild_lengths))});
        break;
      case 3: text += row.bytes > 1 ? "@z add.u64 b, b, 1;\n" : ""; break;
      default: break;  // no thread's
    }
    if (row.follows) text += "@z mov.b32 m, -1;\n";
  }
  if (row.before != 0) text += Fill("sub.u32 i, i, $0;\nsub.u32 e, e, $0;\n", {std::to_string(row.before)});
  if (row.moves) text += row.address;
  // A row whose own length is not known to end where it says must end by its order.
  const std::string order = row.step != 1 && row.step != -1 ? "lt" : random_.OneIn(3) ? "lt" : "ne";
  const std::string sign = order == "ne" ? "u32" : random_.OneIn(2) ? "s32" : "u32";
  const std::string asks =
      downwards && order == "lt" ? Fill("setp.gt.$0 p, i, e;\n", {sign}) : Fill("setp.$0.$1 p, i, e;\n", {order, sign});
  if (is_unrolled) {
    const std::string few = Fill("and.b32 n, n, 3;\nsetp.eq.u32 p, n, 0;\n@p bra $0;\n$1:\n", {no_rest, rest}) +
                            WildRound(row, end) +
                            Fill("sub.u32 n, n, 1;\nsetp.ne.u32 p, n, 0;\n@p bra $0;\n$1:\n", {rest, no_rest});
    std::string many =
        Fill("sub.u32 n, e, i;\nsetp.lt.u32 p, n, 4;\n@p bra $0;\nshr.u32 n, n, 2;\n$1:\n", {end, again});
    const bool rest_is_first = random_.OneIn(2);
    if (!rest_is_first)
      many = Fill("sub.u32 n, e, i;\nsetp.lt.u32 p, n, 4;\n@p bra $0$1;\nshr.u32 n, n, 2;\n$2:\n", {end, "b", again});
    for (int i = 0; i < 4; ++i) many += WildRound(row, end);
    many += Fill("sub.u32 n, n, 1;\nsetp.ne.u32 p, n, 0;\n@p bra $0;\n", {again});
    text += rest_is_first ? "sub.u32 n, e, i;\n" + few + many : many + end + "b:\nsub.u32 n, e, i;\n" + few;
    statement.form = "wild row, unrolled";
  } else {
    if (asks_first) text += asks + Fill("@!p bra $0;\n", {end});
    text += again + ":\n" + WildRound(row, end) + asks + Fill("@p bra $0;\n", {again});
  }
  text += end + ":\n";
  if (!outer.empty()) text += Fill("add.u32 j, j, 1;\nsetp.lt.u32 p, j, 3;\n@p bra $0;\n", {outer});
  statement.text = text + Fill("st.global.b32 $1, s;\nst.global.b32 $2, i;\n}\n", {end, at0, at1});
  return statement;
}

Program MakeWildRows(uint64_t number) {
  Random random(number);
  const bool downwards = random.OneIn(4);
  // Which says what memory is where (runner.cc): the inputs first or last, so that rows lead out of all of it.
  Program program{.seed = 5 * number + (downwards ? 0 : 1), .output_bytes = 64};
  Maker maker(random, program.output_bytes);
  program.statements.push_back(maker.WildRows(downwards));
  return program;
}

}  // namespace semantics
