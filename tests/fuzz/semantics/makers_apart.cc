// Diverged lanes that still meet, as on Volta and later: at warp operations and barriers on both sides of a branch, in
// different iterations of loops, in halves of a warp. All threads of the block get here together.
#include "makers.h"
#include "text.h"

namespace semantics {

using tutti::ptx::Type;

Statement Maker::Apart() {
  using Method = Statement (Maker::*)();
  static constexpr Method kAll[] = {&Maker::ArmsMeet, &Maker::ArmsMeetTwice, &Maker::RoundsMeet, &Maker::BarrierInArms,
                                    &Maker::HalvesThenAll};
  return (this->*random_.From(kAll))();
}

namespace {

// An operation of the whole warp, which makes "d" of "v".
constexpr const char* kOperations[] = {
    "shfl.sync.bfly.b32 d, v, 5, 31, -1;", "redux.sync.add.u32 d, v, -1;",
    "redux.sync.xor.b32 d, v, -1;",        "match.any.sync.b32 d, v, -1;",
    "shfl.sync.down.b32 d, v, 3, 31, -1;", "{ .reg .pred q; setp.gt.s32 q, v, 7; vote.sync.ballot.b32 d, q, -1; }"};

}  // namespace

// The same operation on both sides of a branch, on other values.
Statement Maker::ArmsMeet() {
  Statement statement{.form = "arms meet"};
  const std::string other = Label(), end = Label(), operation = random_.From(kOperations), at = Out(statement);
  statement.text = Fill(
      "{\n.reg .b32 d, v; .reg .pred p;\nsetp.lt.s32 p, $0, $1;\n@p bra $2;\nmov.b32 v, $3;\n$4\nadd.u32 d, d, 1;\nbra "
      "$5;\n$2:\nmov.b32 v, $6;\n$4\n$5:\nst.global.b32 $7, d;\n}\n",
      {X(), X(), other, X(), operation, end, X(), at});
  return statement;
}

// Two of them on each side, one after the other.
Statement Maker::ArmsMeetTwice() {
  Statement statement{.form = "arms meet twice"};
  const std::string other = Label(), end = Label(), at = Out(statement);
  const std::string first = random_.From(kOperations), second = random_.From(kOperations);
  statement.text = Fill(
                       "{\n.reg .b32 d, v; .reg .pred p;\nsetp.lt.s32 p, $0, $1;\nmov.b32 v, $2;\n@p bra "
                       "$3;\n$4\nxor.b32 v, d, v;\n$5\nbra $6;\n",
                       {X(), X(), X(), other, first, second, end}) +
                   Fill("$0:\nnot.b32 v, v;\n$1\nadd.u32 v, d, v;\n$2\n$3:\nst.global.b32 $4, d;\n}\n",
                        {other, first, second, end, at});
  return statement;
}

// Each lane's own number of iterations in a first loop, and the rest of three in a second one.
Statement Maker::RoundsMeet() {
  Statement statement{.form = "rounds meet"};
  const std::string first = Label(), between = Label(), second = Label(), end = Label(),
                    operation = random_.From(kOperations), at = Out(statement);
  statement.text = Fill(
                       "{\n.reg .b32 d, v, left, rest; .reg .pred p;\nand.b32 left, $0, 3;\nsub.u32 rest, 3, "
                       "left;\nmov.b32 v, $1;\nmov.b32 d, 0;\n$2:\nsetp.eq.u32 p, left, 0;\n@p bra $3;\n$4\nadd.u32 v, "
                       "v, d;\nsub.u32 left, left, 1;\nbra $2;\n",
                       {X(), X(), first, between, operation}) +
                   Fill(
                       "$0:\n$1:\nsetp.eq.u32 p, rest, 0;\n@p bra $2;\n$3\nxor.b32 v, v, d;\nsub.u32 rest, rest, "
                       "1;\nbra $1;\n$2:\nst.global.b32 $4, v;\n}\n",
                       {between, second, end, operation, at});
  return statement;
}

// A barrier of the block on each side, and shared memory before and after it.
Statement Maker::BarrierInArms() {
  Statement statement{.form = "barrier in arms"};
  const std::string other = Label(), end = Label(), at = Out(statement),
                    barrier = random_.OneIn(2) ? "barrier.sync 9;" : "barrier.sync 9, 64;";
  statement.text =
      Fill(
          "{\n.reg .b32 a, b, d; .reg .pred p;\nbar.sync 0;\nmov.u32 b, shared_bytes;\nshl.b32 a, %t0, 2;\nadd.u32 a, "
          "a, b;\nsetp.lt.s32 p, $0, $1;\n@p bra $2;\nst.shared.b32 [a], $3;\n$4\nbra $5;\n",
          {X(), X(), other, X(), barrier, end}) +
      Fill(
          "$0:\nst.shared.b32 [a], $1;\n$2\n$3:\nxor.b32 a, %t0, $4;\nshl.b32 a, a, 2;\nadd.u32 a, a, "
          "b;\nld.shared.b32 d, [a];\nst.global.b32 $5, d;\nbar.sync 0;\n}\n",
          {other, X(), barrier, end, std::to_string(random_.Below(64)), at});
  return statement;
}

// Parts of a warp meet among themselves, and then with the rest, which is elsewhere.
Statement Maker::HalvesThenAll() {
  Statement statement{.form = "halves, then all"};
  const uint32_t cut = 1 + random_.Below(31), low = (1u << cut) - 1;
  const std::string other = Label(), end = Label(), operation = random_.From(kOperations), at = Out(statement);
  statement.text = Fill(
                       "{\n.reg .b32 d, v, l; .reg .pred p;\nmov.u32 l, %laneid;\nmov.b32 v, $0;\nsetp.lt.u32 p, l, "
                       "$1;\n@p bra $2;\nredux.sync.min.u32 v, v, $3;\n$4\nbra $5;\n",
                       {X(), std::to_string(cut), other, std::to_string(~low), operation, end}) +
                   Fill("$0:\nbar.warp.sync $1;\nredux.sync.max.u32 v, v, $1;\n$2\n$3:\nst.global.b32 $4, d;\n}\n",
                        {other, std::to_string(low), operation, end, at});
  return statement;
}

}  // namespace semantics
