#include "makers.h"

#include "forms.h"
#include "text.h"

namespace semantics {

using tutti::ptx::Type;

std::string Maker::Out(Statement& statement, Type type) {
  statement.results.push_back({.offset = Reserve(output_bytes_), .type = type});
  return Output(statement.results.back());
}

// Integer arithmetic on the registers that are live through the whole program: chains for the optimiser.
Statement Maker::MixIntegers() {
  static constexpr const char* kOperations[] = {
      "add.u32 $0, $1, $2;",
      "sub.s32 $0, $1, $2;",
      "mul.lo.s32 $0, $1, $2;",
      "mul.hi.u32 $0, $1, $2;",
      "mad.lo.u32 $0, $1, $2, $3;",
      "and.b32 $0, $1, $2;",
      "or.b32 $0, $1, $2;",
      "xor.b32 $0, $1, $2;",
      "shl.b32 $0, $1, $2;",
      "shr.s32 $0, $1, $2;",
      "shr.u32 $0, $1, $2;",
      "min.s32 $0, $1, $2;",
      "max.u32 $0, $1, $2;",
      "shf.l.wrap.b32 $0, $1, $2, $3;",
      "bfe.s32 $0, $1, $2, $3;",
      "prmt.b32 $0, $1, $2, $3;",
      "lop3.b32 $0, $1, $2, $3, 0x96;",
      "sad.u32 $0, $1, $2, $3;",
      "popc.b32 $0, $1;",
      "bfind.s32 $0, $1;",
      "dp4a.s32.u32 $0, $1, $2, $3;",
      "{ .reg .pred p; setp.lt.s32 p, $1, $2; selp.b32 $0, $1, $3, p; }",
      "{ .reg .pred p; setp.gtu.f32 p, $1, $2; @p add.u32 $0, $3, 1; }",
      "mov.b32 $0, $1;",
      "cvt.s32.s8 $0, $1;",
      "slct.u32.s32 $0, $1, $2, $3;",
      "lop3.or.b32 $0|%p1, $1, $2, $3, 0x3c, %p1;",
  };
  Statement statement{.form = "integers"};
  for (uint32_t i = 1 + random_.Below(4); i > 0; --i)
    statement.text += Fill(random_.From(kOperations), {X(), X(), X(), X()}) + "\n";
  if (statement.text.find("%p1") != std::string::npos) statement.text = "setp.ne.u32 %p1, %x0, %x1;\n" + statement.text;
  return statement;
}

Statement Maker::Carry() {
  const bool wide = random_.OneIn(2), is_signed = random_.OneIn(2);
  const std::string type = std::string(is_signed ? "s" : "u") + (wide ? "64" : "32"), reg = wide ? "b64" : "b32";
  const uint32_t bytes = wide ? 8 : 4;
  static constexpr const char* kChains[][3] = {
      {"add.cc.$0 d0, a, b;", "addc.cc.$0 d1, b, c;", "addc.$0 d2, a, c;"},
      {"sub.cc.$0 d0, a, b;", "subc.cc.$0 d1, b, c;", "subc.$0 d2, a, c;"},
      {"mad.lo.cc.$0 d0, a, b, c;", "madc.hi.cc.$0 d1, a, b, c;", "madc.hi.$0 d2, b, c, a;"},
      {"mad.hi.cc.$0 d0, a, b, c;", "madc.lo.cc.$0 d1, b, a, b;", "addc.$0 d2, c, 0;"},
      {"add.cc.$0 d0, a, b;", "madc.lo.cc.$0 d1, a, b, c;", "madc.lo.$0 d2, c, c, a;"},
  };
  const auto& chain = random_.From(kChains);
  Statement statement{.form = "carry"};
  statement.text =
      Fill("{\n.reg .$0 a, b, c, d0, d1, d2;\nld.global.$0 a, $1;\nld.global.$0 b, $2;\nld.global.$0 c, $3;\n",
           {reg, Input(random_, Kind::kInteger, bytes), Input(random_, Kind::kInteger, bytes),
            Input(random_, Kind::kInteger, bytes)});
  for (int i = 0; i < 3; ++i) {
    const std::string at = Out(statement, wide ? Type::kB64 : Type::kB32);
    statement.text += Fill(std::string(chain[i]) + "\nst.global.$1 $2, d$3;\n", {type, reg, at, std::to_string(i)});
  }
  statement.text += "}\n";
  return statement;
}

// A mov between a register and its pieces, both ways.
Statement Maker::Packing() {
  Statement statement{.form = "mov {}"};
  const uint32_t which = random_.Below(7), bytes = which % 2 == 0 ? 4 : 8;
  const std::string a = Input(random_, Kind::kInteger, bytes), b = Input(random_, Kind::kInteger, bytes);
  const std::string at0 = Out(statement, Type::kB64), at1 = Out(statement, Type::kB64);
  static constexpr const char* kPatterns[] = {
      "{\n.reg .b32 a, b, c; .reg .b64 d, e;\nld.global.b32 a, $0;\nld.global.b32 b, $1;\nmov.b64 d, {a, b};\nmov.b64 "
      "{_, c}, d;\nmov.b64 e, {c, c};\nst.global.b64 $2, d;\nst.global.b64 $3, e;\n}\n",
      "{\n.reg .b16 h<4>; .reg .b64 d, e;\nld.global.b64 d, $0;\nmov.b64 {h0, h1, h2, h3}, d;\nmov.b64 e, {h3, h1, h0, "
      "h2};\nst.global.b64 $2, e;\nmov.b64 e, {h1, h1, h3, h3};\nst.global.b64 $3, e;\n}\n",
      "{\n.reg .b16 h<2>; .reg .b32 r, q; .reg .b64 d;\nld.global.b32 r, $0;\nmov.b32 {h0, h1}, r;\nmov.b32 q, {h1, "
      "h0};\nmov.b64 d, {q, r};\nst.global.b64 $2, d;\nst.global.b64 $3, d;\n}\n",
      "{\n.reg .b64 a, b, c, d; .reg .b128 q;\nld.global.b64 a, $0;\nld.global.b64 b, $1;\nmov.b128 q, {a, "
      "b};\nmov.b128 {c, d}, q;\nst.global.b64 $2, d;\nst.global.b64 $3, c;\n}\n",
      "{\n.reg .b32 a, b, c, d; .reg .b64 e, f; .reg .b128 q;\nld.global.b32 a, $0;\nld.global.b32 b, $1;\nmov.b128 q, "
      "{a, b, 7, a};\nmov.b128 {c, d, _, a}, q;\nmov.b64 e, {d, a};\nmov.b128 {_, f}, q;\nst.global.b64 $2, "
      "e;\nst.global.b64 $3, f;\n}\n",
      "{\n.reg .b64 a, b, c, d; .reg .b128 q, w, z; .reg .pred p;\nld.global.b64 a, $0;\nld.global.b64 b, "
      "$1;\nmov.b128 "
      "q, {a, b};\nmov.b128 w, {b, a};\nst.global.b128 [%own+320], q;\natom.global.exch.b128 z, [%own+320], "
      "w;\nsetp.lt.s64 p, a, b;\n@p mov.b128 w, q;\natom.relaxed.gpu.global.cas.b128 q, [%own+320], w, "
      "z;\nld.global.b128 w, [%own+320];\nmov.b128 {a, b}, w;\nmov.b128 {c, d}, q;\nxor.b64 c, c, d;\nsub.u64 a, a, "
      "b;\nst.global.b64 $2, a;\nst.global.b64 $3, c;\n}\n",
      "{\n.reg .b32 a, b, c, d; .reg .b64 e;\nmov.v4.u32 {a, b, _, d}, %tid;\nmov.v4.u32 {_, _, c, _}, %ntid;\nmov.b64 "
      "e, {a, b};\nst.global.b64 $2, e;\nmov.b64 e, {c, d};\nst.global.b64 $3, e;\n}\n",
  };
  statement.text = Fill(kPatterns[which], {a, b, at0, at1});
  return statement;
}

Statement Maker::Lookup() {
  Statement statement{.form = "lop3.BoolOp"};
  const std::string at0 = Out(statement), at1 = Out(statement);
  statement.text = Fill(
      "{\n.reg .b32 d, w; .reg .pred p, q;\nsetp.lt.s32 q, $0, $1;\nlop3.$2.b32 d|p, $0, $1, $3, $4, q;\nst.global.b32 "
      "$5, d;\nselp.b32 w, 1, 0, p;\nst.global.b32 $6, w;\n}\n",
      {X(), X(), random_.OneIn(2) ? "and" : "or", X(), std::to_string(random_.Below(256)), at0, at1});
  return statement;
}

Statement Maker::Call() {
  Statement statement{.form = "call"};
  const std::string at = Out(statement), a = X(), b = X();
  switch (random_.Below(6)) {
    case 0:
    case 1:
      statement.text = Fill(
          "{\n.param .b32 x; .param .b32 y; .param .b32 z; .reg .b32 d;\nst.param.b32 [x], $0;\nst.param.b32 [y], "
          "$1;\ncall (z), $2, (x, y);\nld.param.b32 d, [z];\nst.global.b32 $3, d;\n}\n",
          {a, b, random_.OneIn(2) ? "mix" : "fold", at});
      break;
    case 2:
      statement.text = Fill(
          "{\n.reg .b32 d; .reg .b64 e;\nmov.b64 e, {$0, $1};\ncall (d), spread, ($0, e);\nst.global.b32 $2, d;\n}\n",
          {a, b, at});
      break;
    case 3:
      statement.text = Fill(
          "{\n.reg .b32 d; .reg .v2 .b32 v, w;\nmov.b32 v.x, $0;\nmov.b32 v.y, $1;\ncall (w), turn, (v, $2);\nsub.u32 "
          "d, "
          "w.x, w.y;\nadd.u32 d, d, v.x;\nst.global.b32 $3, d;\n}\n",
          {a, b, X(), at});
      break;
    default: {  // by address, each lane its own
      const bool by_table = random_.OneIn(2);
      statement.text = Fill(
          "{\n$4.param .b32 x; .param .b32 y; .param .b32 z; .reg .b32 d; .reg .b64 f, g; .reg .pred p;\n$5setp.lt.s32 "
          "p, $0, $1;\nselp.b64 f, f, g, p;\nst.param.b32 [x], $0;\nst.param.b32 [y], $1;\ncall (z), f, (x, y), "
          "$3;\nld.param.b32 d, [z];\nst.global.b32 $2, d;\n}\n",
          {a, b, at, by_table ? "ways" : "proto",
           by_table ? "" : "proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\n",
           by_table ? "ld.global.b64 f, [ways];\nld.global.b64 g, [ways+8];\n"
                    : "mov.u64 f, mix;\nmov.u64 g, fold;\n"});
    }
  }
  return statement;
}

// What computes nothing.
Statement Maker::Hints() {
  static constexpr const char* kHints[] = {
      "membar.cta;",
      "membar.gl;",
      "membar.sys;",
      "fence.acq_rel.gpu;",
      "fence.sc.cta;",
      "fence.sc.sys;",
      "nanosleep.u32 20;",
      "pmevent 1;",
      "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;",
      "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;",
      "prefetch.global.L1 [%in];",
      "prefetch.global.L2 [%in+64];",
      "prefetchu.L1 [%in];",
      "griddepcontrol.launch_dependents;",
      "griddepcontrol.wait;",
      "applypriority.global.L2::evict_normal [%in], 128;",
      "{ .reg .pred n; setp.ne.u32 n, %t0, %t0; @n trap; }",
      "{ .reg .pred n; setp.ne.u32 n, %t0, %t0; @n brkpt; }",
      "{ .reg .pred n; setp.gt.u32 n, %t0, 100000; @n exit; }",
      "cp.async.commit_group;",
      "cp.async.wait_all;",
      "discard.global.L2 [%own+3968], 128;",
  };
  Statement statement{.form = "hint"};
  for (uint32_t i = 0; i < 5; ++i) statement.text += std::string(random_.From(kHints)) + "\n";
  return statement;
}

Statement Maker::If(bool uniform, uint32_t depth) {
  const std::string other = Label(), end = Label();
  const bool same_for_all = uniform && random_.OneIn(2), has_else = random_.OneIn(2);
  Statement statement{.form = "if"};
  if (same_for_all)
    statement.text = "setp.lt.u32 %p0, " + std::to_string(random_.Below(2)) + ", 1;\n";
  else
    statement.text = "setp." +
                     std::string(random_.From(std::vector<std::string>{"lt.s32", "ge.u32", "ne.s32", "gt.s32"})) +
                     " %p0, " + X() + ", " + X() + ";\n";
  statement.text += (random_.OneIn(2) ? "@%p0 bra " : "@!%p0 bra ") + other + ";\n";
  for (uint32_t i = 1 + random_.Below(3); i > 0; --i) statement.children.push_back(Make(same_for_all, depth + 1));
  statement.between = "bra " + end + ";\n" + other + ":\n";
  if (has_else) statement.others.push_back(Make(same_for_all, depth + 1));
  statement.end = end + ":\n";
  return statement;
}

// Each lane's own number of iterations, at most seven.
Statement Maker::Loop(bool uniform, uint32_t depth) {
  const std::string again = Label(), counter = "c" + std::to_string(labels_);
  const bool same_for_all = uniform && random_.OneIn(2);
  Statement statement{.form = "loop"};
  statement.text = "{\n.reg .b32 " + counter + "; .reg .pred q" + counter + ";\n" +
                   (same_for_all ? "mov.u32 " + counter + ", " + std::to_string(1 + random_.Below(4))
                                 : "and.b32 " + counter + ", " + X() + ", 7") +
                   ";\n" + again + ":\n";
  for (uint32_t i = 1 + random_.Below(2); i > 0; --i)
    statement.children.push_back(depth == 0 && random_.OneIn(2) ? Make(same_for_all, depth + 2) : MixIntegers());
  statement.end = "sub.s32 " + counter + ", " + counter + ", 1;\nsetp.gt.s32 q" + counter + ", " + counter +
                  ", 0;\n@q" + counter + " bra " + again + ";\n}\n";
  return statement;
}

Statement Maker::Switch(uint32_t depth) {
  const std::string end = Label(), table = Label();
  const uint32_t ways = 2 + random_.Below(3);
  Statement statement{.form = "brx"};
  std::string targets;
  for (uint32_t i = 0; i < ways; ++i) targets += (i == 0 ? "" : ", ") + end + "w" + std::to_string(i);
  statement.text = "{\n.reg .b32 index" + end + ";\n" + table + ": .branchtargets " + targets + ";\nrem.u32 index" +
                   end + ", " + X() + ", " + std::to_string(ways) + ";\nbrx.idx index" + end + ", " + table + ";\n";
  for (uint32_t i = 0; i < ways; ++i) {
    Statement way{
        .form = "way", .text = end + "w" + std::to_string(i) + ":\n", .end = i + 1 == ways ? "" : "bra " + end + ";\n"};
    way.children.push_back(depth < 2 ? Make(false, depth + 1) : MixIntegers());
    statement.children.push_back(std::move(way));
  }
  statement.end = end + ":\n}\n";
  return statement;
}

namespace {

using Method = Statement (Maker::*)();
constexpr Method kAnywhere[] = {
    &Maker::OwnAtomics,    &Maker::LoadStore,   &Maker::LoadStore,   &Maker::Addresses,
    &Maker::Constants,     &Maker::Local,       &Maker::Stack,       &Maker::Packing,
    &Maker::Carry,         &Maker::Video,       &Maker::Video,       &Maker::VideoMultiplyAdd,
    &Maker::VideoPacked,   &Maker::VideoPacked, &Maker::Lookup,      &Maker::Call,
    &Maker::Hints,         &Maker::Policies,    &Maker::MixIntegers, &Maker::BulkCopy,
    &Maker::BulkReduction, &Maker::AsyncStore,  &Maker::Gathers,     &Maker::Gathers,
    &Maker::Fields,        &Maker::Fields};

}  // namespace

Statement Maker::MakeInTurn(uint64_t turn) { return (this->*kAnywhere[turn % std::size(kAnywhere)])(); }

Statement Maker::Make(bool uniform, uint32_t depth) {
  static constexpr Method kTogether[] = {
      &Maker::Shuffle,        &Maker::Vote,           &Maker::MatchOrReduce, &Maker::WarpBarrier,
      &Maker::HalvesMeet,     &Maker::SharedExchange, &Maker::BarrierReduce, &Maker::ProducerConsumer,
      &Maker::PhaseBarrier,   &Maker::AsyncCopy,      &Maker::SharedAtomics, &Maker::OwnCluster,
      &Maker::MatrixMultiply, &Maker::MatrixMove,     &Maker::Wmma,          &Maker::SharedFields};
  const uint32_t what = random_.Below(100);
  if (what < 50) return MakeForm(random_.From(Forms()), random_, output_bytes_);
  if (depth < 3 && what < 55) return If(uniform, depth);
  if (depth < 3 && what < 59) return Loop(uniform, depth);
  if (depth < 2 && what < 61) return Switch(depth);
  if (uniform && what < 66) return Apart();
  if (uniform && what < 69) return Waits(depth);
  if (uniform && what < 80) return (this->*random_.From(kTogether))();
  return (this->*random_.From(kAnywhere))();
}

const std::vector<Unreached>& UnreachedOpcodes() {
  static const std::vector<Unreached> list = {
      {"clusterlaunchcontrol", "declines every request: nothing to compute"},
      {"istypep", "reads handles that the host binds; refused by the compiler"},
      {"multimem", "needs memory of several devices: always a fault"},
      {"suld", "reads what the host binds: tests/compat"},
      {"suq", "reads what the host binds; refused by the compiler"},
      {"sured", "reads what the host binds; refused by the compiler"},
      {"sust", "writes what the host binds: tests/compat"},
      {"tcgen05", "refused by the compiler"},
      {"tensormap", "makes what copies by tensor maps need: tests/run"},
      {"tex", "reads what the host binds: tests/compat"},
      {"tld4", "reads what the host binds: tests/compat"},
      {"txq", "reads what the host binds; refused by the compiler"},
      {"wgmma", "needs four warps with matrices in shared memory: warp_group_test.cc"},
  };
  return list;
}

Program MakeProgram(uint64_t seed, uint32_t statements) {
  Random random(seed);
  Program program{.seed = seed, .output_bytes = 64};
  Maker maker(random, program.output_bytes);
  // So that each opcode occurs in some hundred programs, each of which takes seconds to compile.
  const auto& groups = FormsByOpcode();
  program.statements.push_back(MakeForm(random.From(groups[seed % groups.size()]), random, program.output_bytes));
  for (const uint64_t turn : {seed, seed + 7, seed + 13}) program.statements.push_back(maker.MakeInTurn(turn));
  // They are small, and few of them are of a kind that is mistaken.
  for (int i = 0; i < 8 && seed % 4 == 1; ++i) program.statements.push_back(maker.Indices());
  for (int i = 0; i < 8 && seed % 8 == 2; ++i) program.statements.push_back(maker.Searches());
  while (program.statements.size() < statements) program.statements.push_back(maker.Make(true, 0));
  return program;
}

}  // namespace semantics
