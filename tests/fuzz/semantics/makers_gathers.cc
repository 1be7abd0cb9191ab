// Loops that each thread leaves in its own round, whose loads go where the threads' data says, and rows of words that
// the threads of a warp read or write together: what the compiler runs thread after thread, and what it makes vectors
// of.
#include "makers.h"
#include "text.h"

namespace semantics {

namespace {

// Of "c", an index of a word in the block's inputs, to "v"; "a" is an address.
constexpr const char* kGathers[] = {
    "mad.wide.u32 a, c, 4, %in;\nld.global.b32 v, [a];\n",
    "cvt.u64.u32 a, c;\nadd.u64 a, a, %in;\nld.global.u8 v, [a];\n",
    "mad.wide.u32 a, c, 2, %in;\nld.global.s16 v, [a];\n",
    "shr.u32 v, c, 1;\nmad.wide.u32 a, v, 8, %in;\n{ .reg .b64 w; .reg .b32 h; ld.global.b64 w, [a]; mov.b64 {v, h}, "
    "w; "
    "xor.b32 v, v, h; }\n",
    "shr.u32 v, c, 2;\nmad.wide.u32 a, v, 16, %in;\n{ .reg .b32 w<4>; ld.global.v4.b32 {w0, w1, w2, w3}, [a]; sub.u32 "
    "v, w0, w3; xor.b32 v, v, w2; }\n",
    "mad.wide.u32 a, c, 4, %in;\nld.global.nc.b32 v, [a];\n",
};
constexpr const char* kSums[] = {"add.u32 s, s, v;\n",
                                 "mad.lo.u32 s, s, 33, v;\n",
                                 "xor.b32 s, s, v;\nshf.l.wrap.b32 s, s, s, 7;\n",
                                 "min.s32 s, s, v;\n",
                                 "max.u32 s, s, v;\n",
                                 "sub.u32 s, v, s;\n",
                                 "add.u32 s, s, v;\nmov.b32 t, v;\n"};
constexpr const char* kNoneOrEarly[] = {"", "", "setp.gt.u32 q, s, 0xf0000000;\n@q bra $0;\n",
                                        "and.b32 c, v, 15;\nsetp.eq.u32 q, c, 3;\n@q bra $0;\n"};

}  // namespace

Statement Maker::Gathers() {
  using Method = Statement (Maker::*)();
  static constexpr Method kAll[] = {&Maker::SparseRow, &Maker::SparseRow,    &Maker::LoopInLoop,
                                    &Maker::Chase,     &Maker::BinarySearch, &Maker::ColumnWalk};
  return (this->*random_.From(kAll))();
}

// One round of a row: the index that is stored at "i", and what lies there.
std::string Maker::GatherRound(const std::string& leave) {
  std::string round = "mad.wide.u32 a, i, 4, %in;\nld.global.b32 c, [a];\nand.b32 c, c, 4095;\n";
  round += random_.From(kGathers);
  const std::string sum = random_.From(kSums);
  if (random_.OneIn(4)) {
    const std::string skip = Label();
    round += Fill("and.b32 c, v, 1;\nsetp.eq.u32 q, c, 0;\n@q bra $0;\n$1$0:\n", {skip, sum});
  } else {
    round += sum;
  }
  round += Fill(random_.From(kNoneOrEarly), {leave});
  if (random_.OneIn(4)) round += "and.b32 c, i, 15;\nmad.wide.u32 a, c, 4, %own;\nst.global.b32 [a+512], s;\n";
  return round + "add.u32 i, i, " + std::to_string(1 + random_.Below(3)) + ";\n";
}

// Entries of the inputs, which threads have side by side, with others in between: each thread as many as it likes, or
// all the same number of them.
Statement Maker::ColumnWalk() {
  Statement statement{.form = "column walk"};
  const std::string again = Label(), end = Label(), at0 = Out(statement), at1 = Out(statement);
  const uint32_t apart = 2 + random_.Below(3), most = kEntries / apart - 1;
  statement.text = Fill(
      "{\n.reg .b32 i, e, c, v, s, t; .reg .b64 a; .reg .pred p, q;\nmov.b32 i, 0;\nmov.b32 t, 0;\nmov.b32 s, "
      "$0;\n$1;\n",
      {X(), random_.OneIn(2) ? "mov.b32 e, " + std::to_string(1 + random_.Below(most))
                             : Fill("and.b32 e, $0, 7;\nsub.u32 e, e, 1", {X()})});
  statement.text += "setp.ge.s32 p, i, e;\n@p bra " + end + ";\n" + again + ":\n";
  for (uint32_t rounds = 1 + random_.Below(2); rounds > 0; --rounds) {
    statement.text += Fill("mad.wide.u32 a, i, $0*T, %in4;\nld.global.b32 v, [a];\n$1add.u32 i, i, 1;\n",
                           {std::to_string(16 * apart), random_.From(kSums)});
    if (random_.OneIn(3)) statement.text += "and.b32 c, s, 15;\nsetp.eq.u32 q, c, 3;\n@q bra " + end + ";\n";
    if (rounds > 1) statement.text += "setp.ge.s32 p, i, e;\n@p bra " + end + ";\n";
  }
  statement.text += Fill("setp.lt.s32 p, i, e;\n@p bra $0;\n$1:\nst.global.b32 $2, s;\nst.global.b32 $3, i;\n}\n",
                         {again, end, at0, at1});
  return statement;
}

// From each thread's own begin to its own end, with one or two rounds at a time.
Statement Maker::SparseRow() {
  Statement statement{.form = "sparse row"};
  const std::string again = Label(), end = Label(), at0 = Out(statement), at1 = Out(statement), at2 = Out(statement);
  const bool first_asks = random_.OneIn(2);
  statement.text = Fill(
      "{\n.reg .b32 i, e, c, v, s, t; .reg .b64 a; .reg .pred p, q;\nand.b32 i, $0, $1;\nand.b32 e, $2, $3;\nadd.u32 "
      "e, "
      "e, i;\nmov.b32 s, $4;\nmov.b32 t, 0;\n",
      {X(), random_.OneIn(2) ? "1023" : "7", X(), random_.OneIn(2) ? "7" : "15", X()});
  if (first_asks) statement.text += Fill("setp.ge.u32 p, i, e;\n@p bra $0;\n", {end});
  statement.text += again + ":\n" + GatherRound(end);
  if (random_.OneIn(3)) statement.text += Fill("setp.ge.u32 p, i, e;\n@p bra $0;\n", {end}) + GatherRound(end);
  statement.text += Fill(
      "setp.lt.u32 p, i, e;\n@p bra $0;\n$1:\nst.global.b32 $2, s;\nst.global.b32 $3, t;\nst.global.b32 $4, i;\n}\n",
      {again, end, at0, at1, at2});
  return statement;
}

// A row of rows: the inner loop's rounds are what the outer one has read.
Statement Maker::LoopInLoop() {
  Statement statement{.form = "rows of rows"};
  const std::string outer = Label(), inner = Label(), inner_end = Label(), end = Label(), at0 = Out(statement),
                    at1 = Out(statement);
  statement.text =
      Fill(
          "{\n.reg .b32 i, e, j, f, c, v, s, t; .reg .b64 a; .reg .pred p, q;\nand.b32 j, $0, 255;\nand.b32 f, $1, "
          "3;\nadd.u32 f, f, j;\nmov.b32 s, $2;\nmov.b32 t, 0;\n$3:\nsetp.ge.u32 p, j, f;\n@p bra $4;\nmad.wide.u32 a, "
          "j, 4, %in;\nld.global.b32 i, [a];\nand.b32 e, i, 3;\nshr.u32 i, i, 20;\nadd.u32 e, e, i;\n",
          {X(), X(), X(), outer, end}) +
      Fill("$0:\nsetp.ge.u32 p, i, e;\n@p bra $1;\n$2bra $0;\n$1:\nadd.u32 j, j, 1;\nbra $3;\n",
           {inner, inner_end, GatherRound(random_.OneIn(2) ? inner_end : end), outer}) +
      Fill("$0:\nst.global.b32 $1, s;\nst.global.b32 $2, j;\n}\n", {end, at0, at1});
  return statement;
}

// Each load says where the next one goes.
Statement Maker::Chase() {
  Statement statement{.form = "chase"};
  const std::string again = Label(), end = Label(), at0 = Out(statement), at1 = Out(statement);
  statement.text = Fill(
      "{\n.reg .b32 c, v, s, n; .reg .b64 a; .reg .pred p;\nand.b32 c, $0, 4095;\nand.b32 n, $1, 15;\nmov.b32 s, "
      "0;\n$2:\nmad.wide.u32 a, c, 4, %in;\nld.global.b32 v, [a];\nmad.lo.u32 s, s, 5, v;\nand.b32 c, v, "
      "4095;\nsetp.lt.u32 p, c, 300;\n@p bra $3;\nsub.u32 n, n, 1;\nsetp.gt.s32 p, n, 0;\n@p bra "
      "$2;\n$3:\nst.global.b32 "
      "$4, s;\nst.global.b32 $5, n;\n}\n",
      {X(), X(), again, end, at0, at1});
  return statement;
}

// For the first word that is not below one of the thread's own, as if the block's inputs were in order.
Statement Maker::BinarySearch() {
  Statement statement{.form = "binary search"};
  const std::string again = Label(), end = Label(), at = Out(statement);
  statement.text = Fill(
      "{\n.reg .b32 l, h, m, v; .reg .b64 a; .reg .pred p;\nand.b32 l, $0, 255;\nand.b32 h, $1, 2047;\nadd.u32 h, h, "
      "l;\n$2:\nsetp.ge.u32 p, l, h;\n@p bra $3;\nadd.u32 m, l, h;\nshr.u32 m, m, 1;\nmad.wide.u32 a, m, 4, "
      "%in;\nld.global.b32 v, [a];\nsetp.lt.$5 p, v, $4;\n@p add.u32 l, m, 1;\n@!p mov.b32 h, m;\nbra $2;\n$3:\n"
      "st.global.b32 $6, l;\n}\n",
      {X(), X(), again, end, X(), random_.OneIn(2) ? "s32" : "u32", at});
  return statement;
}

// Some of the `words` words of the struct at `base` in the space, in any order, some twice, to "s".
std::string Maker::ReadFields(const std::string& space, const std::string& base, uint32_t words) {
  static constexpr const char* kTypes[] = {"b32", "b32", "u16", "s8"};
  std::string reads;
  for (uint32_t read = 1 + random_.Below(5); read > 0; --read) {
    const char* const type = random_.From(kTypes);
    const uint32_t inside = type[1] == '8' ? random_.Below(4) : type[1] == '1' ? 2 * random_.Below(2) : 0;
    reads += Fill("ld.$0.$1 v, [$2+$3];\nshf.l.wrap.b32 s, s, s, 5;\nadd.u32 s, s, v;\n",
                  {space, type, base, std::to_string(4 * random_.Below(words) + inside)});
  }
  return reads;
}

// Structs lie side by side, forwards or backwards. They are read by all threads that get here, or by some.
Statement Maker::Fields() {
  const uint32_t words = 1 + random_.Below(4);
  Statement statement{.form = "fields"};
  const std::string at = Out(statement), skip = Label();
  statement.text = "{\n.reg .b32 i, v, s; .reg .b64 a; .reg .pred p;\nmov.b32 i, %t0;\nmov.b32 s, 0;\n";
  if (random_.OneIn(2)) statement.text += "sub.u32 i, 1*T, %t0;\nsub.u32 i, i, 1;\n";
  if (random_.OneIn(2)) statement.text += Fill("setp.lt.s32 p, $0, $1;\n@p bra $2;\n", {X(), X(), skip});
  statement.text += Fill("mad.wide.u32 a, i, $0, %in;\n$1$2:\nst.global.b32 $3, s;\n}\n",
                         {std::to_string(4 * words), ReadFields("global", "a", words), skip, at});
  return statement;
}

// The same in shared memory, which each thread writes a struct of before. All threads of the block get here together.
Statement Maker::SharedFields() {
  const uint32_t words = 1 + random_.Below(4);
  Statement statement{.form = "fields, shared"};
  const std::string at = Out(statement), skip = Label(), stride = std::to_string(4 * words);
  statement.text = Fill(
      "{\n.reg .b32 i, v, s, b, d; .reg .pred p;\nbar.sync 0;\nmov.b32 i, %t0;\nmov.b32 s, 0;\nmov.u32 d, "
      "shared_bytes;\nmad.lo.u32 b, %t0, $0, d;\n",
      {stride});
  for (uint32_t word = 0; word < words; ++word)
    statement.text += Fill("st.shared.b32 [b+$0], $1;\n", {std::to_string(4 * word), X()});
  statement.text += "bar.sync 0;\n";
  if (random_.OneIn(2)) statement.text += "sub.u32 i, 1*T, %t0;\nsub.u32 i, i, 1;\n";
  if (random_.OneIn(2)) statement.text += Fill("setp.lt.s32 p, $0, $1;\n@p bra $2;\n", {X(), X(), skip});
  statement.text += Fill("mad.lo.u32 b, i, $0, d;\n$1$2:\nst.global.b32 $3, s;\nbar.sync 0;\n}\n",
                         {stride, ReadFields("shared", "b", words), skip, at});
  return statement;
}

}  // namespace semantics
