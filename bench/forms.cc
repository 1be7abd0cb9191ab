// forms: what one PTX statement costs a warp, beside an FMA of floats, over the forms that programs use most. Each is
// timed in a loop of eight independent ones whose inputs vary by lane and change from turn to turn; what the same loop
// takes with a move in their place is subtracted.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "driver.h"
#include "kernels/problems.h"
#include "report.h"
#include "timing.h"

namespace {

using namespace bench;

constexpr unsigned kTurns = 1024, kCopies = 8, kLanes = 32, kSamples = 300;

// Registers by their width: 16, 32 or 64 bits. `text` names the result $d and the operands $a, $b and $c.
struct Form {
  const char* name;
  unsigned from, to;
  const char* text;
};

// The bits of operands: numbers near one of the type that `from` holds, or integers (any bits are).
enum class Values { kFloat, kInteger };
struct Group {
  const char* name;
  Values values;
  std::vector<Form> forms;
};

const std::vector<Group> kGroups = {
    {"float",
     Values::kFloat,
     {{"fma.rn.f32", 32, 32, "fma.rn.f32 $d, $a, $b, $c;"},
      {"fma.rn.ftz.f32", 32, 32, "fma.rn.ftz.f32 $d, $a, $b, $c;"},
      {"add.f32", 32, 32, "add.f32 $d, $a, $b;"},
      {"add.ftz.f32", 32, 32, "add.ftz.f32 $d, $a, $b;"},
      {"max.f32", 32, 32, "max.f32 $d, $a, $b;"},
      {"fma.rn.f64", 64, 64, "fma.rn.f64 $d, $a, $b, $c;"},
      {"div.rn.f32", 32, 32, "div.rn.f32 $d, $a, $b;"},
      {"div.full.f32", 32, 32, "div.full.f32 $d, $a, $b;"},
      {"div.approx.ftz.f32", 32, 32, "div.approx.ftz.f32 $d, $a, $b;"},
      {"rcp.approx.ftz.f32", 32, 32, "rcp.approx.ftz.f32 $d, $a;"},
      {"sqrt.rn.f32", 32, 32, "sqrt.rn.f32 $d, $a;"},
      {"sqrt.approx.ftz.f32", 32, 32, "sqrt.approx.ftz.f32 $d, $a;"},
      {"rsqrt.approx.f32", 32, 32, "rsqrt.approx.f32 $d, $a;"},
      {"ex2.approx.f32", 32, 32, "ex2.approx.f32 $d, $a;"},
      {"ex2.approx.ftz.f32", 32, 32, "ex2.approx.ftz.f32 $d, $a;"},
      {"lg2.approx.f32", 32, 32, "lg2.approx.f32 $d, $a;"},
      {"sin.approx.f32", 32, 32, "sin.approx.f32 $d, $a;"},
      {"cos.approx.f32", 32, 32, "cos.approx.f32 $d, $a;"},
      {"tanh.approx.f32", 32, 32, "tanh.approx.f32 $d, $a;"}}},
    {"half",
     Values::kFloat,
     {{"add.f16", 16, 16, "add.f16 $d, $a, $b;"},
      {"fma.rn.f16", 16, 16, "fma.rn.f16 $d, $a, $b, $c;"},
      {"max.f16", 16, 16, "max.f16 $d, $a, $b;"},
      {"add.f16x2", 32, 32, "add.f16x2 $d, $a, $b;"},
      {"fma.rn.f16x2", 32, 32, "fma.rn.f16x2 $d, $a, $b, $c;"},
      {"fma.rn.bf16", 16, 16, "fma.rn.bf16 $d, $a, $b, $c;"},
      {"fma.rn.bf16x2", 32, 32, "fma.rn.bf16x2 $d, $a, $b, $c;"},
      {"cvt.rn.f16.f32", 32, 16, "cvt.rn.f16.f32 $d, $a;"},
      {"cvt.f32.f16", 16, 32, "cvt.f32.f16 $d, $a;"},
      {"cvt.rn.bf16.f32", 32, 16, "cvt.rn.bf16.f32 $d, $a;"}}},
    {"conversion",
     Values::kFloat,
     {{"cvt.rzi.s32.f32", 32, 32, "cvt.rzi.s32.f32 $d, $a;"},
      {"cvt.rzi.u32.f32", 32, 32, "cvt.rzi.u32.f32 $d, $a;"},
      {"cvt.rni.s32.f32", 32, 32, "cvt.rni.s32.f32 $d, $a;"},
      {"cvt.rzi.s64.f32", 32, 64, "cvt.rzi.s64.f32 $d, $a;"},
      {"cvt.rzi.u64.f32", 32, 64, "cvt.rzi.u64.f32 $d, $a;"},
      {"cvt.rzi.u16.f32", 32, 16, "cvt.rzi.u16.f32 $d, $a;"},
      {"cvt.rzi.u8.f32", 32, 16, "cvt.rzi.u8.f32 $d, $a;"},
      {"cvt.rzi.s32.f64", 64, 32, "cvt.rzi.s32.f64 $d, $a;"},
      {"cvt.rzi.u32.f64", 64, 32, "cvt.rzi.u32.f64 $d, $a;"},
      {"cvt.rzi.s64.f64", 64, 64, "cvt.rzi.s64.f64 $d, $a;"},
      {"cvt.rzi.u64.f64", 64, 64, "cvt.rzi.u64.f64 $d, $a;"},
      {"cvt.rzi.s32.f16", 16, 32, "cvt.rzi.s32.f16 $d, $a;"},
      {"cvt.rmi.f32.f32", 32, 32, "cvt.rmi.f32.f32 $d, $a;"},
      {"cvt.rn.f32.f64", 64, 32, "cvt.rn.f32.f64 $d, $a;"}}},
    {"integer",
     Values::kInteger,
     {{"cvt.rn.f32.s32", 32, 32, "cvt.rn.f32.s32 $d, $a;"},
      {"cvt.rn.f32.u32", 32, 32, "cvt.rn.f32.u32 $d, $a;"},
      {"cvt.rn.f32.s64", 64, 32, "cvt.rn.f32.s64 $d, $a;"},
      {"cvt.rn.f64.s64", 64, 64, "cvt.rn.f64.s64 $d, $a;"},
      {"cvt.rn.f16.s32", 32, 16, "cvt.rn.f16.s32 $d, $a;"},
      {"add.s64", 64, 64, "add.s64 $d, $a, $b;"},
      {"mad.lo.s32", 32, 32, "mad.lo.s32 $d, $a, $b, $c;"},
      {"mul.hi.u32", 32, 32, "mul.hi.u32 $d, $a, $b;"},
      {"mul.wide.u32", 32, 64, "mul.wide.u32 $d, $a, $b;"},
      {"mul.lo.u64", 64, 64, "mul.lo.u64 $d, $a, $b;"},
      {"mul.hi.u64", 64, 64, "mul.hi.u64 $d, $a, $b;"},
      {"div.u32", 32, 32, "div.u32 $d, $a, $b;"},
      {"div.s32", 32, 32, "div.s32 $d, $a, $b;"},
      {"rem.u32", 32, 32, "rem.u32 $d, $a, $b;"},
      {"div.u64", 64, 64, "div.u64 $d, $a, $b;"},
      {"popc.b32", 32, 32, "popc.b32 $d, $a;"},
      {"clz.b32", 32, 32, "clz.b32 $d, $a;"},
      {"brev.b32", 32, 32, "brev.b32 $d, $a;"},
      {"bfe.u32", 32, 32, "bfe.u32 $d, $a, $b, 7;"},
      {"prmt.b32", 32, 32, "prmt.b32 $d, $a, $b, $c;"},
      {"shf.l.wrap.b32", 32, 32, "shf.l.wrap.b32 $d, $a, $b, $c;"},
      {"dp4a.s32.s32", 32, 32, "dp4a.s32.s32 $d, $a, $b, $c;"},
      {"vabsdiff4", 32, 32, "vabsdiff4.u32.u32.u32 $d, $a, $b, $c;"}}},
    {"memory and warp",
     Values::kInteger,
     {{"ld.shared.u32, gather", 32, 32, "and.b32 %i, $a, 1020; add.u32 %i, %i, %s; ld.shared.u32 $d, [%i];"},
      {"ld.shared.u16, gather", 32, 16, "and.b32 %i, $a, 1020; add.u32 %i, %i, %s; ld.shared.u16 $d, [%i];"},
      {"ld.shared.u8, gather", 32, 16, "and.b32 %i, $a, 1020; add.u32 %i, %i, %s; ld.shared.u8 $d, [%i];"},
      {"st.shared.u32, scatter", 32, 32,
       "mov.u32 $d, $a; and.b32 %i, $a, 1020; add.u32 %i, %i, %s; st.shared.u32 [%i], $b;"},
      {"st.shared.u8, scatter", 32, 32,
       "mov.u32 $d, $a; and.b32 %i, $a, 1020; add.u32 %i, %i, %s; st.shared.u8 [%i], $b;"},
      {"atom.shared.add.u32", 32, 32, "and.b32 %i, $a, 1020; add.u32 %i, %i, %s; atom.shared.add.u32 $d, [%i], $b;"},
      {"red.shared.add.u32", 32, 32,
       "mov.u32 $d, $a; and.b32 %i, $a, 1020; add.u32 %i, %i, %s; red.shared.add.u32 [%i], $b;"},
      {"shfl.sync.bfly", 32, 32, "shfl.sync.bfly.b32 $d, $a, 5, 31, -1;"},
      {"shfl.sync.idx", 32, 32, "shfl.sync.idx.b32 $d, $a, $b, 31, -1;"},
      {"vote.sync.ballot", 32, 32, "setp.lt.s32 %p, $a, $b; vote.sync.ballot.b32 $d, %p, -1;"},
      {"match.any.sync", 32, 32, "match.any.sync.b32 $d, $a, -1;"},
      {"redux.sync.add", 32, 32, "redux.sync.add.s32 $d, $a, -1;"}}},
};

std::string Register(char letter, unsigned bits, unsigned copy) { return fmt::format("%{}{}_{}", letter, bits, copy); }

std::string Replaced(std::string text, unsigned from, unsigned to, unsigned copy) {
  for (size_t at; (at = text.find('$')) != std::string::npos;)
    text.replace(at, 2, Register(text[at + 1], text[at + 1] == 'd' ? to : from, copy));
  return text;
}

// Operands are loaded, changed and used; results are joined, so that none can be left out.
std::string KernelOf(const Form& form, Values values) {
  std::string declared, loaded, turn, joined;
  const char* step[] = {"1", "3", "1048577"};  // small beside the bits of a mantissa
  for (unsigned copy = 0; copy < kCopies; ++copy) {
    for (const char letter : {'a', 'b', 'c'}) {
      const std::string name = Register(letter, form.from, copy);
      declared += fmt::format(".reg .b{} {};\n", form.from, name);
      const unsigned bytes = form.from / 8, place = (copy * 3 + static_cast<unsigned>(letter - 'a')) * kLanes * bytes;
      loaded += fmt::format("ld.global.b{} {}, [%in+{}];\n", form.from, name, place);
      const char* by = values == Values::kInteger ? "1000003" : step[form.from / 32];
      if (letter == 'a') turn += fmt::format("add.u{0} {1}, {1}, {2};\n", form.from, name, by);
    }
    declared += fmt::format(".reg .b{} {};\n", form.to, Register('d', form.to, copy));
    turn += Replaced(form.text, form.from, form.to, copy) + "\n";
    joined += fmt::format("xor.b{0} %all{0}, %all{0}, {1};\n", form.to, Register('d', form.to, copy));
  }
  return fmt::format(
      ".version 8.3\n.target sm_90\n.address_size 64\n"
      ".visible .entry form(.param .u64 in, .param .u64 out) {{\n"
      ".shared .align 16 .b8 table[4096];\n.reg .b64 %in, %out, %o;\n.reg .b32 %t, %turn, %i, %s;\n.reg .pred %p, %q;\n"
      ".reg .b{0} %all{0};\n{1}"
      "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %s, table;\n"
      "mul.wide.u32 %o, %t, {2}; add.u64 %in, %in, %o; mul.wide.u32 %o, %t, {3}; add.u64 %out, %out, %o;\n"
      "{4}mov.b{0} %all{0}, 0; mov.u32 %turn, 0;\nagain:\n{5}{6}"
      "add.u32 %turn, %turn, 1; setp.lt.u32 %q, %turn, {7}; @%q bra again;\n"
      "st.global.b{0} [%out], %all{0}; ret;\n}}\n",
      form.to, declared, form.from / 8, form.to / 8, loaded, turn, joined, kTurns);
}

// Numbers of `bits` bits from 1 up to 4 in any order, or any integers.
std::vector<uint32_t> Operands(unsigned bits, Values values, const Form& form) {
  std::vector<uint32_t> words(kCopies * 3 * kLanes * 2);
  const bool brain = std::string_view(form.text).find("bf16") != std::string_view::npos;
  const bool pair = std::string_view(form.text).find("f16x2") != std::string_view::npos;
  for (uint32_t i = 0; i < words.size(); ++i) {
    const uint32_t random = example::Hash(i);
    words[i] = random;
    if (values == Values::kInteger) continue;
    if (bits == 64) {
      if (i % 2 == 1) words[i] = 0x3ff00000 + random % 0x200000;
    } else if (bits == 32 && !pair) {
      words[i] = 0x3f800000 + random % 0x1000000;
    } else {  // two halves
      const uint32_t one = brain ? 0x3f80 : 0x3c00, range = brain ? 0x80 : 0x400;
      words[i] = (one + random % range) | (one + (random >> 16) % range) << 16;
    }
  }
  return words;
}

// The loop's time in ns: the least of all, since instructions are what is measured and others only add to them.
double Measure(const Form& form, Values values) {
  const CUmodule module = LoadModule(KernelOf(form, values).c_str());
  const CUfunction function = GetFunction(module, "form");
  const driver::Buffer<uint32_t> in(Operands(form.from, values, form));
  driver::Buffer<uint64_t> out(kLanes);
  const auto once = [&] {
    Launch(function, 1, 1, kLanes, 1, nullptr, in.address(), out.address());
    CHECK_CU(cuCtxSynchronize());
  };
  once();
  const std::vector<double> samples = TimeEach(kSamples, once);
  CHECK_CU(cuModuleUnload(module));
  return *std::ranges::min_element(samples);
}

const char* MoveOf(const Form& form) {
  if (form.from == form.to)
    return form.from == 64 ? "mov.b64 $d, $a;" : form.from == 32 ? "mov.b32 $d, $a;" : "mov.b16 $d, $a;";
  if (form.to == 64) return form.from == 32 ? "cvt.u64.u32 $d, $a;" : "cvt.u64.u16 $d, $a;";
  if (form.to == 32) return form.from == 64 ? "cvt.u32.u64 $d, $a;" : "cvt.u32.u16 $d, $a;";
  return form.from == 64 ? "cvt.u16.u64 $d, $a;" : "cvt.u16.u32 $d, $a;";
}

// The loop's time with moves alone, in ns.
double TimeOfMoves(const Form& form, Values values) {
  static std::map<std::tuple<unsigned, unsigned, Values>, double> known;
  const auto [place, is_new] = known.try_emplace({form.from, form.to, values});
  if (is_new) place->second = Measure({"move", form.from, form.to, MoveOf(form)}, values);
  return place->second;
}

// What one statement costs a warp, in ns.
double CostOf(const Form& form, Values values) {
  return std::max(0.0, Measure(form, values) - TimeOfMoves(form, values)) / (kTurns * kCopies);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  const std::string_view only = argc > 2 ? argv[2] : "";
  OpenDevice();
  Report report("forms",
                "one statement, a warp; ratio: to an FMA of floats; differences below about 1 ns are the loop's");
  CostOf(kGroups[0].forms[0], Values::kFloat);  // until the server and the processor are awake
  const double fma = CostOf(kGroups[0].forms[0], Values::kFloat);
  for (const Group& group : kGroups) {
    for (const Form& form : group.forms) {
      if (std::string_view(form.name).find(only) == std::string_view::npos) continue;
      const double cost = CostOf(form, group.values);
      report.Add({fmt::format("{}: {}", group.name, form.name), cost, "ns", fma, "fma.rn.f32", cost / fma, 0});
    }
  }
  return report.Finish(out);
}
