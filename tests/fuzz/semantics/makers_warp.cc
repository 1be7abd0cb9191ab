// Operations between lanes and threads. All threads of the block get here together.
#include "forms.h"
#include "makers.h"
#include "text.h"

namespace semantics {

using tutti::ptx::Type;

Statement Maker::Shuffle() {
  static constexpr const char* kModes[] = {"up", "down", "bfly", "idx"};
  const std::string mode = random_.From(kModes);
  static constexpr const char* kClamps[] = {"31", "0x1f", "0x181f", "0x1c1f", "0x100f", "7"};
  Statement statement{.form = "shfl.sync." + mode};
  const std::string at0 = Out(statement), at1 = Out(statement);
  const std::string clamp = mode == "up" ? (random_.OneIn(2) ? "0" : "0x1800") : random_.From(kClamps);
  statement.text = Fill(
      "{\n.reg .b32 d, b, w; .reg .pred p;\n$0\nshfl.sync.$1.b32 d|p, $2, b, $3, -1;\nst.global.b32 $4, d;\nselp.b32 "
      "w, 1, 0, p;\nst.global.b32 $5, w;\n}\n",
      {random_.OneIn(2) ? "mov.b32 b, " + std::to_string(random_.Below(34)) + ";" : "and.b32 b, " + X() + ", 31;", mode,
       X(), clamp, at0, at1});
  return statement;
}

Statement Maker::Vote() {
  static constexpr const char* kModes[] = {"all", "any", "uni"};
  Statement statement{.form = "vote.sync"};
  const std::string at0 = Out(statement), at1 = Out(statement);
  statement.text = Fill(
      "{\n.reg .b32 d, w; .reg .pred p, q;\nsetp.lt.s32 p, $0, $1;\nvote.sync.ballot.b32 d, $2p, "
      "0xffffffff;\nst.global.b32 $3, d;\nvote.sync.$4.pred q, $5p, -1;\nselp.b32 w, 1, 0, q;\nst.global.b32 $6, "
      "w;\n}\n",
      {X(), random_.OneIn(3) ? std::string("0x7fffffff") : X(), random_.OneIn(2) ? "!" : "", at0, random_.From(kModes),
       random_.OneIn(2) ? "!" : "", at1});
  return statement;
}

Statement Maker::MatchOrReduce() {
  static constexpr const char* kReductions[] = {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32",
                                                "max.s32", "and.b32", "or.b32",  "xor.b32"};
  static constexpr const char* kFloats[] = {"min.f32", "max.f32", "min.abs.f32", "max.NaN.f32", "min.abs.NaN.f32"};
  Statement statement;
  switch (random_.Below(4)) {
    case 0: {
      statement.form = "match.any";
      const std::string at0 = Out(statement), at1 = Out(statement);
      statement.text = Fill(
          "{\n.reg .b32 d, v; .reg .b64 w;\nand.b32 v, $0, $1;\nmatch.any.sync.b32 d, v, -1;\nst.global.b32 $2, "
          "d;\ncvt.u64.u32 w, v;\nmatch.any.sync.b64 d, w, -1;\nst.global.b32 $3, d;\n}\n",
          {X(), random_.OneIn(2) ? "3" : "0x80000001", at0, at1});
      break;
    }
    case 1: {
      statement.form = "match.all";
      const std::string at0 = Out(statement), at1 = Out(statement);
      statement.text = Fill(
          "{\n.reg .b32 d, v, w; .reg .pred p;\nand.b32 v, $0, $1;\nmatch.all.sync.b32 d|p, v, -1;\nst.global.b32 $2, "
          "d;\nselp.b32 w, 1, 0, p;\nst.global.b32 $3, w;\n}\n",
          {X(), random_.OneIn(2) ? "0" : "1", at0, at1});
      break;
    }
    case 2: {
      const std::string operation = random_.From(kReductions);
      statement.form = "redux.sync." + operation;
      statement.text = Fill("{\n.reg .b32 d;\nredux.sync.$0 d, $1, -1;\nst.global.b32 $2, d;\n}\n",
                            {operation, X(), Out(statement)});
      break;
    }
    default: {
      const std::string operation = random_.From(kFloats);
      statement.form = "redux.sync." + operation;
      const std::string at = Out(statement, Type::kF32);
      statement.text =
          Fill("{\n.reg .f32 d, a;\nld.global.f32 a, $0;\nredux.sync.$1 d, a, -1;\nst.global.f32 $2, d;\n}\n",
               {Input(random_, Kind::kFloat, 4), operation, at});
    }
  }
  return statement;
}

// What elect and activemask promise: one lane is elected, the same for all; the own lane is active.
Statement Maker::WarpBarrier() {
  Statement statement{.form = "elect, activemask"};
  const std::string at0 = Out(statement), at1 = Out(statement), at2 = Out(statement);
  statement.text = Fill(
      "{\n.reg .b32 d, w, m; .reg .pred p;\nbar.warp.sync 0xffffffff;\nelect.sync d|p, -1;\nvote.sync.ballot.b32 w, p, "
      "-1;\npopc.b32 w, w;\nst.global.b32 $0, w;\n"
      "match.all.sync.b32 w|p, d, -1;\nselp.b32 w, 1, 0, p;\nst.global.b32 $1, w;\nactivemask.b32 m;\nmov.u32 w, "
      "%lanemask_eq;\nand.b32 m, m, w;\nst.global.b32 $2, m;\n}\n",
      {at0, at1, at2});
  return statement;
}

// Lanes of two parts of a warp, each with the part's own mask, in the arms of a branch.
Statement Maker::HalvesMeet() {
  const uint32_t cut = 1 + random_.Below(31);
  const uint32_t low = (1u << cut) - 1;
  const std::string other = Label(), end = Label();
  Statement statement{.form = "shfl.sync in arms"};
  const std::string at = Out(statement);
  statement.text =
      Fill(
          "{\n.reg .b32 d, l, s; .reg .pred p;\nmov.u32 l, %laneid;\nsetp.ge.u32 p, l, $0;\n@p bra $1;\nrem.u32 s, $2, "
          "$0;\nshfl.sync.idx.b32 d, $3, s, 31, $4;\nredux.sync.add.u32 s, d, $4;\nadd.u32 d, d, s;\nbra $5;\n",
          {std::to_string(cut), other, X(), X(), std::to_string(low), end}) +
      Fill(
          "$0:\nvote.sync.ballot.b32 d, p, $1;\nshfl.sync.idx.b32 s, $2, 31, 31, $1;\nadd.u32 d, d, "
          "s;\n$3:\nst.global.b32 $4, d;\n}\n",
          {other, std::to_string(~low), X(), end, at});
  return statement;
}

// Thread t's value goes to thread t ^ k, by shared memory between barriers.
Statement Maker::SharedExchange() {
  static constexpr const char* kBarriers[] = {"bar.sync 0;",
                                              "barrier.sync 1;",
                                              "barrier.sync.aligned 2;",
                                              "bar.cta.sync 3;",
                                              "bar.sync 4, 64;",
                                              "barrier.cta.sync 15, 64;",
                                              "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;"};
  const std::string barrier = random_.From(kBarriers);
  Statement statement{.form = "exchange by " + barrier.substr(0, barrier.find_first_of(" ;"))};
  const std::string at = Out(statement);
  statement.text = Fill(
      "{\n.reg .b32 a, b, d;\nmov.u32 b, shared_bytes;\nshl.b32 a, %t0, 2;\nadd.u32 a, a, b;\n$0\nst.shared.b32 [a], "
      "$1;\n$0\nxor.b32 a, %t0, $2;\nshl.b32 a, a, 2;\nadd.u32 a, a, b;\nld.shared.b32 d, [a];\nst.global.b32 $3, "
      "d;\n$0\n}\n",
      {barrier, X(), std::to_string(random_.Below(64)), at});
  return statement;
}

Statement Maker::BarrierReduce() {
  Statement statement{.form = "barrier.red"};
  const std::string at0 = Out(statement), at1 = Out(statement);
  const bool dotted = random_.OneIn(2);
  statement.text = Fill(
      "{\n.reg .b32 d, w; .reg .pred p, q;\nsetp.$0.s32 p, $1, $2;\n$3.red.popc$4.u32 d, 5, $5p;\nst.global.b32 $6, "
      "d;\n$3.red.$7$4.pred q, 6, 64, p;\nselp.b32 w, 1, 0, q;\nst.global.b32 $8, w;\n}\n",
      {random_.OneIn(3) ? "ne" : "lt", X(), X(), dotted ? "bar" : "barrier", dotted ? "" : ".aligned",
       random_.OneIn(2) ? "!" : "", at0, random_.OneIn(2) ? "and" : "or", at1});
  return statement;
}

// Warp 0 fills shared memory and arrives; warp 1 waits and reads.
Statement Maker::ProducerConsumer() {
  Statement statement{.form = "barrier.arrive"};
  const std::string at = Out(statement), other = Label(), end = Label();
  statement.text = Fill(
                       "{\n.reg .b32 a, b, d; .reg .pred p;\nmov.u32 b, shared_bytes;\nand.b32 a, %t0, 31;\nshl.b32 a, "
                       "a, 2;\nadd.u32 a, a, b;\nmov.b32 d, 7;\nbar.sync 0;\nsetp.ge.u32 p, %t0, 32;\n@p bra "
                       "$0;\nst.shared.b32 [a+1024], $1;\n",
                       {other, X()}) +
                   Fill(
                       "$0.arrive$1 7, 64;\nbra $2;\n$3:\n$0.sync$1 7, 64;\nld.shared.b32 d, "
                       "[a+1024];\n$2:\nst.global.b32 $4, d;\nbar.sync 0;\n}\n",
                       {random_.OneIn(2) ? "bar" : "barrier", "", end, other, at});
  return statement;
}

Statement Maker::PhaseBarrier() {
  Statement statement{.form = "mbarrier"};
  const std::string at = Out(statement), made = Label(), again = Label();
  const std::string wait = random_.OneIn(2) ? "test_wait.shared::cta.b64 p, [shared_bytes+8000], s"
                                            : "try_wait.parity.shared::cta.b64 p, [shared_bytes+8000], 0";
  statement.text = Fill(
      "{\n.reg .b32 a, b, d; .reg .b64 s; .reg .pred p;\nbar.sync 0;\nsetp.ne.u32 p, %t0, 0;\n@p bra "
      "$0;\nmbarrier.init.shared::cta.b64 [shared_bytes+8000], 64;\n$0:\nbar.sync 0;\n"
      "mov.u32 b, shared_bytes;\nshl.b32 a, %t0, 2;\nadd.u32 a, a, b;\nst.shared.b32 [a+2048], "
      "$1;\nmbarrier.arrive.shared::cta.b64 s, [shared_bytes+8000];\n$2:\nmbarrier.$3;\n@!p bra $2;\n"
      "xor.b32 a, %t0, $4;\nshl.b32 a, a, 2;\nadd.u32 a, a, b;\nld.shared.b32 d, [a+2048];\nst.global.b32 $5, "
      "d;\nbar.sync 0;\n@%p7 bra $6;\nsetp.ne.u32 p, %t0, 0;\n@p bra $6;\nmbarrier.inval.shared::cta.b64 "
      "[shared_bytes+8000];\n$6:\nbar.sync 0;\n}\n",
      {made, X(), again, wait, std::to_string(random_.Below(64)), at, Label()});
  statement.text = "setp.ne.u32 %p7, %t0, %t0;\n" + statement.text;
  return statement;
}

Statement Maker::AsyncCopy() {
  Statement statement{.form = "cp.async"};
  const std::string at = Out(statement, Type::kB64);
  static constexpr const char* kCopies[] = {
      "cp.async.ca.shared.global [a+4096], $0, 4;",    "cp.async.ca.shared.global [a+4096], $0, 8;",
      "cp.async.cg.shared.global [a+4096], $0, 16;",   "cp.async.ca.shared::cta.global [a+4096], $0, 16, 8;",
      "cp.async.ca.shared.global [a+4096], $0, 8, 0;", "cp.async.cg.shared.global.L2::128B [a+4096], $0, 16;"};
  statement.text = Fill(
                       "{\n.reg .b32 a, b; .reg .b64 d, z;\nbar.sync 0;\nmov.u32 b, shared_bytes;\nshl.b32 a, %t0, "
                       "4;\nadd.u32 a, a, b;\nmov.b64 z, -1;\nst.shared.v2.b64 [a+4096], {z, z};\n$0\n",
                       {Fill(random_.From(kCopies), {Input(random_, Kind::kInteger, 16)})}) +
                   Fill(
                       "cp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\nld.shared.b64 d, "
                       "[a+4096];\nst.global.b64 $0, d;\nbar.sync 0;\n}\n",
                       {at});
  return statement;
}

// Into the thread's own part of shared memory, awaited by an mbarrier of its own, and back under a mask.
Statement Maker::BulkCopy() {
  Statement statement{.form = "cp.async.bulk"};
  const std::string at0 = Out(statement, Type::kB64), at1 = Out(statement, Type::kB64);
  statement.text = Fill(
      "{\n.reg .b32 a, b; .reg .b64 c, d, t; .reg .b16 m; .reg .pred p;\nmov.u32 b, shared_bytes;\nshl.b32 a, %t0, "
      "4;\nadd.u32 a, a, b;\nld.global.b64 c, $0;\nld.global.b64 d, $1;\nst.global.v2.b64 [%own+336], {c, "
      "d};\nmbarrier.init.shared.b64 [a+7168], 1;\nmbarrier.arrive.expect_tx.shared.b64 t, [a+7168], "
      "16;\nfence.proxy.async;\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [a+4096], "
      "[%own+336], 16, [a+7168];\nmbarrier.test_wait.shared.b64 p, [a+7168], t;\nld.shared.v2.b64 {c, d}, "
      "[a+4096];\nxor.b64 c, c, d;\nselp.b64 c, c, 1, p;\nst.global.b64 $2, c;\nst.shared.b64 [a+4096], "
      "c;\ncvt.u16.u32 m, $4;\ncp.async.bulk.prefetch.L2.global [%own+336], "
      "16;\ncp.async.bulk.global.shared::cta.bulk_group$5 [%own+336], [a+4096], 16$6;\ncp.async.bulk.commit_group;\n"
      "cp.async.bulk.wait_group 0;\nld.global.v2.b64 {c, d}, [%own+336];\nsub.u64 c, c, d;\nst.global.b64 $3, c;\n}\n",
      {Input(random_, Kind::kInteger, 8), Input(random_, Kind::kInteger, 8), at0, at1, X(), "$5", "$6"});
  const bool masked = random_.OneIn(2);
  statement.text = Fill(statement.text, {"", "", "", "", "", masked ? ".cp_mask" : "", masked ? ", m" : ""});
  return statement;
}

Statement Maker::BulkReduction() {
  static constexpr const char* kOperations[] = {
      "add.u32", "add.s32", "add.u64", "min.u32", "min.s32", "min.u64", "min.s64", "max.u32", "max.s32", "max.u64",
      "max.s64", "inc.u32", "dec.u32", "and.b32", "or.b32",  "xor.b32", "and.b64", "or.b64",  "xor.b64"};
  const std::string operation = random_.From(kOperations);
  Statement statement{.form = "cp.reduce.async.bulk." + operation};
  const std::string at0 = Out(statement, Type::kB64), at1 = Out(statement, Type::kB64);
  statement.text = Fill(
      "{\n.reg .b32 a, b; .reg .b64 c, d;\nmov.u32 b, shared_bytes;\nshl.b32 a, %t0, 4;\nadd.u32 a, a, "
      "b;\nld.global.b64 c, $0;\nld.global.b64 d, $1;\nst.global.v2.b64 [%own+336], {c, d};\nst.shared.v2.b64 "
      "[a+4096], {d, d};\nfence.proxy.async;\ncp.reduce.async.bulk.global.shared::cta.bulk_group.$2 [%own+336], "
      "[a+4096], 16;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nld.global.v2.b64 {c, d}, "
      "[%own+336];\nst.global.b64 $3, c;\nst.global.b64 $4, d;\n}\n",
      {Input(random_, Kind::kInteger, 8), Input(random_, Kind::kInteger, 8), operation, at0, at1});
  return statement;
}

// st.async and red.async into the thread's own part of shared memory.
Statement Maker::AsyncStore() {
  static constexpr const char* kOperations[] = {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32",
                                                "inc.u32", "dec.u32", "and.b32", "or.b32",  "xor.b32"};
  Statement statement{.form = "st.async, red.async"};
  const std::string at = Out(statement, Type::kB64);
  statement.text = Fill(
      "{\n.reg .b32 a, b; .reg .b64 c, t; .reg .pred p;\nmov.u32 b, shared_bytes;\nshl.b32 a, %t0, 4;\nadd.u32 a, a, "
      "b;\nmbarrier.init.shared.b64 [a+7168], 1;\nmbarrier.arrive.expect_tx.shared.b64 t, [a+7168], "
      "12;\nst.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [a+4096], {$0, $1}, "
      "[a+7168];\nred.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.$3 [a+4096], $2, "
      "[a+7168];\nmbarrier.test_wait.shared.b64 p, [a+7168], t;\nld.shared.b64 c, [a+4096];\nselp.b64 c, c, 1, "
      "p;\nst.global.b64 $4, c;\n}\n",
      {X(), X(), X(), random_.From(kOperations), at});
  return statement;
}

// The cluster of one block that each block is. setmaxnreg is for a whole warp group, where there is a bound of
// registers; there is none.
Statement Maker::OwnCluster() {
  Statement statement{.form = "mapa, getctarank"};
  const std::string at0 = Out(statement), at1 = Out(statement);
  statement.text = Fill(
      "{\n.reg .b32 a, b, c, d;\nbar.sync 0;\nmov.u32 b, shared_bytes;\nshl.b32 a, %t0, 2;\nadd.u32 a, a, "
      "b;\nst.shared.b32 [a+5120], "
      "$0;\nbarrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
      "xor.b32 c, %t0, $1;\nshl.b32 c, c, 2;\nadd.u32 c, c, b;\nmapa.shared::cluster.u32 c, c, "
      "0;\nld.shared::cluster.b32 d, [c+5120];\nst.global.b32 $2, d;\ngetctarank.shared::cluster.u32 d, "
      "c;\nst.global.b32 $3, d;\nsetmaxnreg.inc.sync.aligned.u32 96;\nbar.sync 0;\n}\n",
      {X(), std::to_string(random_.Below(64)), at0, at1});
  return statement;
}

// All threads at a few words of shared memory, with operations whose outcome has no order.
Statement Maker::SharedAtomics() {
  static constexpr const char* kOperations[] = {"add.u32", "add.s32", "min.u32", "max.s32", "min.s32", "max.u32",
                                                "and.b32", "or.b32",  "xor.b32", "inc.u32", "dec.u32"};
  const std::string operation = random_.From(kOperations);
  const bool counts = operation.starts_with("inc") || operation.starts_with("dec"), returns = random_.OneIn(2);
  Statement statement{.form = "atom.shared." + operation};
  const std::string at = Out(statement);
  static constexpr const char* kSemantics[] = {"", ".relaxed.cta", ".acq_rel.gpu", ".release.cta", ".acquire.sys"};
  const bool red = !returns;
  std::string sem = random_.From(kSemantics);
  if (red && (sem.find("acq") != std::string::npos)) sem = ".relaxed.gpu";
  statement.text = Fill(
                       "{\n.reg .b32 a, b, d, o;\nbar.sync 0;\nmov.u32 b, shared_bytes;\nshl.b32 a, %t0, 2;\nadd.u32 "
                       "a, a, b;\nst.shared.b32 [a+512], $0;\nbar.sync 0;\nand.b32 a, $1, 12;\nadd.u32 a, a, b;\n",
                       {X(), X()}) +
                   (returns ? Fill("atom$0.shared.$1 o, [a+512], $2;\n", {sem, operation, counts ? "5" : X()})
                            : Fill("red$0.shared.$1 [a+512], $2;\n", {sem, operation, counts ? "5" : X()})) +
                   Fill(
                       "bar.sync 0;\nshl.b32 a, %t0, 2;\nadd.u32 a, a, b;\nld.shared.b32 d, [a+512];\nst.global.b32 "
                       "$0, d;\nbar.sync 0;\n}\n",
                       {at});
  return statement;
}

}  // namespace semantics
