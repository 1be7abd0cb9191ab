// Matrices. Floating-point elements are small integers, so that every sum is exact in any order.
#include "forms.h"
#include "makers.h"
#include "text.h"

namespace semantics {

using tutti::ptx::Type;

namespace {

// `count` registers of a name, with small numbers of the type in them.
std::string Fragment(Random& random, const std::string& name, uint32_t count, const std::string& type) {
  std::string text;
  const bool f64 = type == "f64";
  text += Fill(".reg .$0 $1<$2>;\n", {f64 ? "f64" : type == "f32" ? "f32" : "b32", name, std::to_string(count)});
  for (uint32_t i = 0; i < count; ++i) {
    const std::string r = name + std::to_string(i), x = "%x" + std::to_string(random.Below(8));
    const std::string byte = std::to_string(random.Below(4));
    if (type == "f16" || type == "bf16") {
      text += Fill(
          "{ .reg .b32 s<4>; .reg .f32 f<2>; bfe.s32 s0, $1, $3, 3; bfe.s32 s1, $1, 17, 3; cvt.rn.f32.s32 f0, s0; "
          "cvt.rn.f32.s32 f1, s1; cvt.rn.$2x2.f32 $0, f0, f1; }\n",
          {r, x, type, byte});
    } else if (type == "tf32" || type == "f32") {
      text += Fill("{ .reg .b32 s; .reg .f32 f; bfe.s32 s, $1, $2, 4; cvt.rn.f32.s32 f, s; mov.b32 $0, f; }\n",
                   {r, x, byte});
    } else if (f64) {
      text += Fill("{ .reg .b32 s; bfe.s32 s, $1, $2, 6; cvt.rn.f64.s32 $0, s; }\n", {r, x, byte});
    } else {
      text += Fill("mov.b32 $0, $1;\n", {r, x});
    }
  }
  return text;
}

std::string List(const std::string& name, uint32_t count) {
  std::string text = "{";
  for (uint32_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + name + std::to_string(i);
  return text + "}";
}

// `to` becomes the product and what `from` was.
std::string Product(const std::string& form, uint32_t d_count, uint32_t a_count, uint32_t b_count,
                    const std::string& to, const std::string& from) {
  return Fill("$0 $1, $2, $3, $4;\n",
              {form, List(to, d_count), List("a", a_count), List("b", b_count), List(from, d_count)});
}

}  // namespace

// A tile's sums, around a loop of two rounds: one chain or two, which may change places, or begin anew from a sum of
// before; warps may wait for each other in the middle. Four products more: halves hold their sums exactly.
std::string Maker::Again(const std::string& form, uint32_t d_count, uint32_t a_count, uint32_t b_count,
                         const std::string& type) {
  const auto product = [&](const char* to, const char* from) {
    return Product(form, d_count, a_count, b_count, to, from);
  };
  const std::string again = Label();
  std::string text = Fill(".reg .u32 turn; .reg .pred more; .reg .$0 e<$1>;\nmov.u32 turn, 0;\n$2:\n",
                          {type, std::to_string(d_count), again});
  const std::string wait = random_.OneIn(2) ? "bar.sync 0;\n" : "";
  const auto move = [&](const char* to, const char* from) {
    for (uint32_t i = 0; i < d_count; ++i) text += Fill("mov.$0 $1$3, $2$3;\n", {type, to, from, std::to_string(i)});
  };
  switch (random_.Below(4)) {
    case 0: text += product("d", "d") + wait + product("d", "d"); break;
    case 1:
      text += product("e", "d") + wait;
      move("d", "c");
      text += product("c", "e");
      break;
    case 2:
      text += product("d", "d") + wait;
      move("e", "d");
      move("d", "c");
      move("c", "e");
      break;
    default: text += product("e", "d") + wait + product("d", "c"); move("c", "e");
  }
  return text + Fill("add.u32 turn, turn, 1;\nsetp.lt.u32 more, turn, 2;\n@more bra $0;\n", {again});
}

Statement Maker::MatrixMultiply() {
  struct Row {
    const char* form;
    const char* d;
    uint32_t d_count;
    const char* ab;
    uint32_t a_count, b_count;
  };
  static constexpr Row kRows[] = {
      {"m16n8k8.row.col.f32.f16.f16.f32", "f32", 4, "f16", 2, 1},
      {"m16n8k8.row.col.f16.f16.f16.f16", "f16", 2, "f16", 2, 1},
      {"m16n8k16.row.col.f32.f16.f16.f32", "f32", 4, "f16", 4, 2},
      {"m16n8k16.row.col.f16.f16.f16.f16", "f16", 2, "f16", 4, 2},
      {"m16n8k8.row.col.f32.bf16.bf16.f32", "f32", 4, "bf16", 2, 1},
      {"m16n8k16.row.col.f32.bf16.bf16.f32", "f32", 4, "bf16", 4, 2},
      {"m16n8k4.row.col.f32.tf32.tf32.f32", "f32", 4, "tf32", 2, 1},
      {"m16n8k8.row.col.f32.tf32.tf32.f32", "f32", 4, "tf32", 4, 2},
      {"m8n8k16.row.col.s32.s8.s8.s32", "s32", 2, "s8", 1, 1},
      {"m8n8k16.row.col.satfinite.s32.u8.s8.s32", "s32", 2, "s8", 1, 1},
      {"m16n8k16.row.col.s32.s8.u8.s32", "s32", 4, "s8", 2, 1},
      {"m16n8k32.row.col.s32.u8.u8.s32", "s32", 4, "s8", 4, 2},
      {"m16n8k32.row.col.satfinite.s32.s8.s8.s32", "s32", 4, "s8", 4, 2},
      {"m8n8k4.row.col.f64.f64.f64.f64", "f64", 2, "f64", 1, 1},
      {"m16n8k4.row.col.f64.f64.f64.f64", "f64", 4, "f64", 2, 1},
      {"m16n8k8.row.col.f64.f64.f64.f64", "f64", 4, "f64", 4, 2},
      {"m16n8k16.row.col.f64.f64.f64.f64", "f64", 4, "f64", 8, 4},
  };
  const Row& row = random_.From(kRows);
  Statement statement{.form = std::string("mma.sync.aligned.") + row.form};
  const std::string d = row.d;
  statement.text = "{\n" + Fragment(random_, "a", row.a_count, row.ab) + Fragment(random_, "b", row.b_count, row.ab) +
                   Fragment(random_, "c", row.d_count, d) +
                   Fill(".reg .$0 d<$1>;\n", {d == "f64"   ? "f64"
                                              : d == "f32" ? "f32"
                                                           : "b32",
                                              std::to_string(row.d_count)}) +
                   Product(statement.form, row.d_count, row.a_count, row.b_count, "d", "c");
  if (random_.OneIn(2)) {
    statement.text += Again(statement.form, row.d_count, row.a_count, row.b_count,
                            d == "f64"   ? "f64"
                            : d == "f32" ? "f32"
                                         : "b32");
  }
  for (uint32_t i = 0; i < row.d_count; ++i) {
    const std::string at = Out(statement, d == "f64"   ? Type::kF64
                                          : d == "f32" ? Type::kF32
                                          : d == "f16" ? Type::kF16x2
                                                       : Type::kB32);
    statement.text += Fill("st.global.$0 $1, d$2;\n", {d == "f64"   ? "f64"
                                                       : d == "f32" ? "f32"
                                                                    : "b32",
                                                       at, std::to_string(i)});
  }
  statement.text += "}\n";
  return statement;
}

Statement Maker::MatrixMove() {
  Statement statement{.form = "ldmatrix, stmatrix, movmatrix"};
  const uint32_t count = 1u << random_.Below(3);
  const std::string trans = random_.OneIn(2) ? ".trans" : "", stored_trans = random_.OneIn(2) ? ".trans" : "";
  statement.text = Fill(
                       "{\n.reg .b32 a, b, w, r<4>, q;\nbar.sync 0;\nmov.u32 b, shared_bytes;\nmov.u32 w, "
                       "%laneid;\nshl.b32 a, w, 4;\nadd.u32 b, b, a;\nand.b32 w, %t0, 32;\nshl.b32 w, w, 4;\nadd.u32 "
                       "b, b, w;\nst.shared.v4.b32 [b], {$0, $1, $2, $3};\nbar.sync 0;\n",
                       {X(), X(), X(), X()}) +
                   Fill(
                       "ldmatrix.sync.aligned.m8n8.x$0$1.shared.b16 $2, [b];\nmovmatrix.sync.aligned.m8n8.trans.b16 q, "
                       "r0;\nbar.sync 0;\nstmatrix.sync.aligned.m8n8.x$0$3.shared.b16 [b+2048], $2;\nbar.sync "
                       "0;\nld.shared.b32 a, [b+$4];\n",
                       {std::to_string(count), trans, List("r", count), stored_trans, "2048"});
  if (count < 4)
    statement.text +=
        Fill("setp.ge.u32 %p2, %t0, 64;\nmov.u32 w, %laneid;\nsetp.ge.u32 %p2, w, $0;\nselp.b32 a, 0, a, %p2;\n",
             {std::to_string(8 * count)});
  for (uint32_t i = 0; i < count; ++i)
    statement.text += Fill("st.global.b32 $0, r$1;\n", {Out(statement), std::to_string(i)});
  statement.text += Fill("st.global.b32 $0, q;\n", {Out(statement)});
  statement.text += Fill("st.global.b32 $0, a;\nbar.sync 0;\n}\n", {Out(statement)});
  return statement;
}

// Through a whole wmma: load, multiply, store; the fragments themselves are opaque.
Statement Maker::Wmma() {
  struct Row {
    const char* shape;
    uint32_t m, n, k;
  };
  static constexpr Row kRows[] = {{"m16n16k16", 16, 16, 16}, {"m32n8k16", 32, 8, 16}, {"m8n32k16", 8, 32, 16}};
  const Row& row = random_.From(kRows);
  const bool integers = !random_.OneIn(6);  // halves take a second to compile for SSE
  // Rows of bytes must be of 16 at least.
  const std::string a_order = integers || random_.OneIn(2) ? "row" : "col",
                    b_order = !integers && random_.OneIn(2) ? "row" : "col";
  const uint32_t a_registers = integers ? row.m * row.k / 128 : 8, b_registers = integers ? row.k * row.n / 128 : 8;
  const std::string type = integers ? "s8" : "f16", sum = integers ? "s32" : "f32";
  const std::string a_stride = std::to_string(a_order == "row" ? row.k : row.m),
                    b_stride = std::to_string(b_order == "row" ? row.n : row.k);
  Statement statement{.form = std::string("wmma.") + row.shape + "." + type};
  // The elements: each lane writes 32 bytes of each matrix of its warp.
  statement.text = Fill(
      "{\n.reg .b32 a, b, w, v; .reg .b32 fa<8>, fb<8>; .reg .$0 fc<8>, fd<8>; .reg .b64 g;\nbar.sync 0;\nmov.u32 b, "
      "shared_bytes;\nand.b32 w, %t0, 32;\nmad.lo.u32 b, w, 64, b;\nand.b32 a, %t0, 31;\nmad.lo.u32 a, a, 32, b;\n",
      {integers ? "b32" : "f32"});
  for (uint32_t i = 0; i < 16; ++i) {
    const std::string x = X(), offset = std::to_string(4 * (i % 8) + (i < 8 ? 0 : 1024));
    if (integers)
      statement.text += Fill("st.shared.b32 [a+$0], $1;\n", {offset, x});
    else
      statement.text += Fill(
          "{ .reg .b32 s<2>; .reg .f32 f<2>; bfe.s32 s0, $1, $2, 3; bfe.s32 s1, $1, 12, 3; cvt.rn.f32.s32 f0, s0; "
          "cvt.rn.f32.s32 f1, s1; cvt.rn.f16x2.f32 v, f0, f1; st.shared.b32 [a+$0], v; }\n",
          {offset, x, std::to_string(i)});
  }
  statement.text += "bar.sync 0;\n";
  for (uint32_t i = 0; i < 8; ++i)
    statement.text += Fill(integers ? "mov.b32 fc$0, 3;\n" : "mov.f32 fc$0, 0f40000000;\n", {std::to_string(i)});
  statement.text += Fill("wmma.load.a.sync.aligned.$0.$1.shared.$2 $3, [b], $4;\n",
                         {a_order, row.shape, type, List("fa", a_registers), a_stride});
  statement.text += Fill("wmma.load.b.sync.aligned.$0.$1.shared.$2 $3, [b+1024], $4;\n",
                         {b_order, row.shape, type, List("fb", b_registers), b_stride});
  statement.text += Fill(
      integers ? "wmma.mma.sync.aligned.$0.$1.$2.s32.s8.s8.s32 $3, $4, $5, $6;\n"
               : "wmma.mma.sync.aligned.$0.$1.$2.f32.f32 $3, $4, $5, $6;\n",
      {a_order, b_order, row.shape, List("fd", 8), List("fa", a_registers), List("fb", b_registers), List("fc", 8)});
  // Stored into the shared memory of the warp in place of A and B: 1024 bytes.
  statement.text += "bar.sync 0;\n";
  statement.text += Fill("wmma.store.d.sync.aligned.$0.$1.shared.$2 [b], $3, $4;\nbar.sync 0;\n",
                         {a_order, row.shape, sum, List("fd", 8), std::to_string(a_order == "row" ? row.n : row.m)});
  for (uint32_t i = 0; i < 8; ++i)
    statement.text += Fill("ld.shared.b32 v, [a+$0];\nst.global.b32 $1, v;\n",
                           {std::to_string(4 * i), Out(statement, integers ? Type::kB32 : Type::kF32)});
  statement.text += "bar.sync 0;\n}\n";
  return statement;
}

}  // namespace semantics
