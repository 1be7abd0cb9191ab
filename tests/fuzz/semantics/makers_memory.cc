// Loads, stores and atomics on memory that is the thread's own, addresses and spaces.
#include "forms.h"
#include "makers.h"
#include "text.h"

namespace semantics {

using tutti::ptx::Type;

Statement Maker::OwnAtomics() {
  struct Row {
    const char* operation;
    const char* reg;
    Type type;
    Kind kind;
  };
  static constexpr Row kRows[] = {
      {"add.u32", "b32", Type::kB32, Kind::kInteger},      {"add.s32", "b32", Type::kB32, Kind::kInteger},
      {"add.u64", "b64", Type::kB64, Kind::kInteger},      {"min.u32", "b32", Type::kB32, Kind::kInteger},
      {"min.s32", "b32", Type::kB32, Kind::kInteger},      {"min.u64", "b64", Type::kB64, Kind::kInteger},
      {"min.s64", "b64", Type::kB64, Kind::kInteger},      {"max.u32", "b32", Type::kB32, Kind::kInteger},
      {"max.s32", "b32", Type::kB32, Kind::kInteger},      {"max.u64", "b64", Type::kB64, Kind::kInteger},
      {"max.s64", "b64", Type::kB64, Kind::kInteger},      {"and.b32", "b32", Type::kB32, Kind::kInteger},
      {"or.b32", "b32", Type::kB32, Kind::kInteger},       {"xor.b32", "b32", Type::kB32, Kind::kInteger},
      {"and.b64", "b64", Type::kB64, Kind::kInteger},      {"or.b64", "b64", Type::kB64, Kind::kInteger},
      {"xor.b64", "b64", Type::kB64, Kind::kInteger},      {"inc.u32", "b32", Type::kB32, Kind::kInteger},
      {"dec.u32", "b32", Type::kB32, Kind::kInteger},      {"exch.b32", "b32", Type::kB32, Kind::kInteger},
      {"exch.b64", "b64", Type::kB64, Kind::kInteger},     {"cas.b16", "b16", Type::kB16, Kind::kInteger},
      {"cas.b32", "b32", Type::kB32, Kind::kInteger},      {"cas.b64", "b64", Type::kB64, Kind::kInteger},
      {"add.f32", "f32", Type::kF32, Kind::kTame},         {"add.f64", "f64", Type::kF64, Kind::kDouble},
      {"add.noftz.f16", "b16", Type::kF16, Kind::kHalf},   {"add.noftz.f16x2", "b32", Type::kF16x2, Kind::kHalf},
      {"add.noftz.bf16", "b16", Type::kBF16, Kind::kHalf}, {"add.noftz.bf16x2", "b32", Type::kBF16x2, Kind::kHalf},
  };
  const Row& row = random_.From(kRows);
  const std::string operation = row.operation, space = random_.OneIn(2) ? ".global" : "",
                    cell = "[%own+" + std::to_string(16 * random_.Below(8)) + "]";
  static constexpr const char* kSemantics[] = {"", ".relaxed.gpu", ".acquire.cta", ".release.sys", ".acq_rel.gpu"};
  Statement statement{.form = "atom." + operation};
  const std::string at0 = Out(statement, row.type), at1 = Out(statement, row.type);
  const std::string old = random_.OneIn(2) ? "a" : "b";  // cas: equal, or most likely not
  statement.text = Fill(
      "{\n.reg .$0 a, b, c, d, e;\nld.global.$0 a, $1;\nld.global.$0 b, $2;\nld.global.$0 c, $1;\nst$3.$0 $4, a;\n",
      {row.reg, Input(random_, row.kind, StoredBytes(row.type)), Input(random_, row.kind, StoredBytes(row.type)), space,
       cell});
  const bool cas = operation.starts_with("cas"), exchange = operation.starts_with("exch");
  if (cas || exchange || random_.OneIn(2)) {
    statement.text += Fill("atom$0$1.$2 d, $3, $4$5;\n", {std::string(random_.From(kSemantics)), space, operation, cell,
                                                          cas ? old : "b", cas ? ", b" : ""});
  } else {
    statement.text += Fill("mov.$0 d, a;\nred$1.$2 $3, b;\n", {row.reg, space, operation, cell});
  }
  statement.text +=
      Fill("ld$0.$1 e, $2;\nst.global.$1 $3, d;\nst.global.$1 $4, e;\n}\n", {space, row.reg, cell, at0, at1});
  return statement;
}

// A store of one width and a load of another, in one of the spaces.
Statement Maker::LoadStore() {
  static constexpr const char* kStores[] = {
      "st$1.b64 [$0], a;",
      "st$1.v2.b32 [$0], {r, q};",
      "st$1.v4.b16 [$0], {h0, h1, h2, h3};",
      "st$1.u8 [$0], r;\nst$1.s8 [$0+1], q;\nst$1.b16 [$0+2], h2;\nst$1.b32 [$0+4], q;",
      "st$1.v2.b64 [$0], {a, a};",
      "not.b64 d, a;\nmov.b128 w, {a, d};\nst$1.b128 [$0], w;",
      "st$1.v4.b32 [$0], {r, q, r, q};",
      "st$1.v2.u8 [$0], {r, q};\nst$1.v2.b16 [$0+4], {h0, h3};",
      "st$1.v4.u8 [$0+4], {h2, h3, h0, h1};\nst$1.b32 [$0], r;"};
  static constexpr const char* kLoads[] = {"ld$1.b64 d, [$0];",
                                           "ld$1.v2.b32 {r, q}, [$0];\nmov.b64 d, {q, r};",
                                           "ld$1.v4.b16 {h3, h2, h1, h0}, [$0];\nmov.b64 d, {h0, h1, h2, h3};",
                                           "ld$1.s8 r, [$0+1];\nld$1.u8 q, [$0+2];\nmov.b64 d, {r, q};",
                                           "ld$1.s16 r, [$0+2];\nld$1.u16 q, [$0+4];\nmov.b64 d, {r, q};",
                                           "ld$1.s32 d, [$0+4];",
                                           "ld$1.u32 d, [$0+4];",
                                           "ld$1.s8 d, [$0+3];",
                                           "ld$1.v4.u8 {h0, h1, h2, h3}, [$0];\nmov.b64 d, {h0, h1, h2, h3};",
                                           "ld$1.v4.s8 {h0, h1, h2, h3}, [$0+4];\nmov.b64 d, {h0, h1, h2, h3};",
                                           "ld$1.v2.b64 {d, _}, [$0];",
                                           "ld$1.b128 w, [$0];\nmov.b128 {d, a}, w;\nxor.b64 d, d, a;"};
  struct MemoryOperand {
    const char* space;
    const char* address;
  };
  static constexpr MemoryOperand kOperands[] = {{".global", "%own+256"},
                                                {"", "%own+256"},
                                                {".volatile.global", "%own+256"},
                                                {".relaxed.gpu.global", "%own+256"},
                                                {".volatile", "%own+256"},
                                                {".local", "local_bytes+16"},
                                                {".shared", "s"},
                                                {".volatile.shared", "s"},
                                                {"", "g"},
                                                {"", "lg"}};
  const MemoryOperand& operand = random_.From(kOperands);
  Statement statement{.form = std::string("st, ld") + operand.space};
  const std::string at = Out(statement, Type::kB64);
  // Vectors of bytes go with the plain kinds of access only.
  statement.text = Fill(
      "{\n.reg .b128 w; .reg .b64 a, d, g, lg; .reg .b32 r, q, s, u; .reg .b16 h<4>;\nld.global.b64 a, $0;\nmov.b64 "
      "{r, q}, "
      "a;\nmov.b64 {h0, h1, h2, h3}, a;\nmov.u32 u, shared_bytes;\nmad.lo.u32 s, %t0, 16, u;\nadd.u32 s, s, "
      "6144;\ncvt.u64.u32 g, s;\ncvta.shared.u64 g, g;\nmov.u64 lg, local_bytes;\ncvta.local.u64 lg, lg;\n",
      {Input(random_, Kind::kInteger, 8)});
  statement.text += Fill(std::string("mov.b64 d, 0;\nst$1.b64 [$0], d;\nst$1.b64 [$0+8], d;\n") +
                             random_.From(kStores) + "\n" + random_.From(kLoads) + "\nst.global.b64 $2, d;\n}\n",
                         {operand.address, operand.space, at});
  return statement;
}

Statement Maker::Addresses() {
  Statement statement{.form = "cvta, isspacep"};
  const std::string at = Out(statement), at1 = Out(statement, Type::kB64);
  static constexpr const char* kSpaces[] = {"global", "shared", "local"};
  // The block runner's window is the whole address space, shared and local memory included, so it cannot be asked
  // whether these are global or local.
  const std::string space = random_.From(kSpaces);
  const std::string asked = space == "global" ? random_.From(kSpaces) : "shared";
  const std::string name = space == "global" ? "table" : space + "_bytes";
  statement.text = Fill(
      "{\n.reg .b64 a, b; .reg .b32 w; .reg .pred p;\nmov.u64 a, $0;\ncvta.$1.u64 b, a;\nisspacep.$2 p, b;\nselp.b32 "
      "w, 1, 0, p;\nst.global.b32 $3, w;\ncvta.to.$1.u64 b, b;\nsub.u64 b, b, a;\nst.global.b64 $4, b;\n}\n",
      {name, space, asked, at, at1});
  return statement;
}

Statement Maker::Constants() {
  Statement statement{.form = "ld.const, ld.param"};
  const std::string at0 = Out(statement), at1 = Out(statement);
  static constexpr const char* kLoads[] = {"ld.const.b32 d, [b];", "ld.const.u8 d, [b];", "ld.const.s16 d, [b];"};
  static constexpr const char* kOthers[] = {"ld.param.b32 d, [given+4];",
                                            "ld.param.s8 d, [given+9];",
                                            "ld.param.u16 d, [given+2];",
                                            "ld.global.nc.b32 d, [table+16];",
                                            "ld.global.b32 d, [table+60];",
                                            "ldu.global.b32 d, [table+48];",
                                            "ld.global.nc.L1::no_allocate.b32 d, [%in];",
                                            "ld.param.v2.b32 {d, _}, [given+8];"};
  statement.text = Fill(
      "{\n.reg .b32 d, i; .reg .b64 b, c;\nand.b32 i, $0, 15;\nmov.u64 c, numbers;\nmad.wide.u32 b, i, 4, "
      "c;\n$1\nst.global.b32 $2, d;\n$3\nst.global.b32 $4, d;\n}\n",
      {X(), random_.From(kLoads), at0, random_.From(kOthers), at1});
  return statement;
}

// Accesses with a cache policy, which changes nothing that can be read.
Statement Maker::Policies() {
  static constexpr const char* kPolicies[] = {
      "createpolicy.fractional.L2::evict_first.b64 c, 1.0;",
      "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 c, 0.5;",
      "createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 c, [%in], 32, 64;"};
  Statement statement{.form = "createpolicy"};
  const std::string at = Out(statement);
  statement.text = Fill(
      "{\n.reg .b32 d, e; .reg .b64 c;\n$0\nst.global.L2::cache_hint.b32 [%own+192], $1, "
      "c;\nld.global.L2::cache_hint.b32 d, [%own+192], c;\nld.global.L2::cache_hint.b32 e, $2, c;\nxor.b32 d, d, "
      "e;\nst.global.b32 $3, d;\n}\n",
      {random_.From(kPolicies), X(), Input(random_, Kind::kInteger, 4), at});
  return statement;
}

// An array of the thread's own, with an index of its own.
Statement Maker::Local() {
  Statement statement{.form = "ld.local"};
  const std::string at = Out(statement);
  statement.text = Fill(
      "{\n.reg .b32 d, i; .reg .b64 a, b;\nmov.u64 a, local_bytes;\nst.local.v4.b32 [local_bytes+32], {$0, $1, $2, "
      "$0};\nst.local.v4.b32 [local_bytes+48], {$1, $0, $0, $2};\nand.b32 i, $3, 7;\nmad.wide.u32 b, i, 4, "
      "a;\nst.local.b32 [b+32], $3;\nand.b32 i, $4, 7;\nmad.wide.u32 b, i, 4, a;\nld.local.b32 d, "
      "[b+32];\nst.global.b32 $5, d;\n}\n",
      {X(), X(), X(), X(), X(), at});
  return statement;
}

// Two arrays, the first as long as each thread wants it, by local and by generic addresses.
Statement Maker::Stack() {
  Statement statement{.form = "alloca"};
  const std::string at0 = Out(statement), at1 = Out(statement);
  static constexpr const char* kAlignments[] = {"", ", 4", ", 16", ", 64", ", 512"};
  const std::string width = random_.OneIn(2) ? "64" : "32";
  const bool generic = random_.OneIn(2);
  statement.text = Fill(
      "{\n.reg .b32 d; .reg .b64 a, b, n; .reg .b$0 top;\nstacksave.u$0 top;\nand.b32 d, $1, 63;\ncvt.u64.u32 n, "
      "d;\nadd.u64 n, n, 12;\nalloca.u64 a, n;\nst.local.b32 [a+8], $2;\nalloca.u64 b, 32$4;\n$5st$6.b32 [b], "
      "$3;\nld.local.b32 d, [a+8];\nst.global.b32 $7, d;\nld$6.b32 d, [b];\nst.global.b32 $8, d;\nstackrestore.u$0 "
      "top;\n}\n",
      {width, X(), X(), X(), random_.From(kAlignments), generic ? "cvta.local.u64 b, b;\n" : "",
       generic ? "" : ".local", at0, at1});
  return statement;
}

}  // namespace semantics
