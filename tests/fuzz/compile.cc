// Valid PTX, made from any bytes, compiled in two ways that share as little as possible: optimised for this machine and
// a known block shape, and unoptimised, for an older machine and any block shape. Both must compile, and compute the
// same.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "compiler/testing/test_module.h"

namespace {

using namespace tutti::compiler;

constexpr uint32_t kThreads = 64, kRegisters = 8, kTableWords = 256;
constexpr size_t kMostStatements = 60;

// Bytes in, choices out; zero when they run out.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  uint32_t Below(uint32_t limit) { return empty() ? 0 : data_[at_++] % limit; }

 private:
  const uint8_t* data_;
  size_t size_, at_ = 0;
};

// Functions that call themselves to a depth of each lane's own. One returns with a lock taken.
constexpr const char* kFunctions = R"(
.func (.param .b32 result) down(.param .b32 value, .param .b32 depth)
{
.reg .pred %p<2>; .reg .b32 %r<8>;
ld.param.b32 %r0, [value]; ld.param.b32 %r1, [depth];
mad.lo.u32 %r4, %r0, 3, %r1;
setp.eq.u32 %p0, %r1, 0;
@%p0 bra leave;
sub.u32 %r2, %r1, 1;
{ .param .b32 a; .param .b32 b; .param .b32 r; st.param.b32 [a], %r4; st.param.b32 [b], %r2; call (r), down, (a, b); ld.param.b32 %r3, [r]; }
xor.b32 %r4, %r3, %r0;
leave:
st.param.b32 [result], %r4;
ret;
}
.func (.param .b32 result) take(.param .b64 word, .param .b32 value, .param .b32 depth)
{
.reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<2>;
ld.param.b64 %rd0, [word]; ld.param.b32 %r0, [value]; ld.param.b32 %r1, [depth];
mad.lo.u32 %r4, %r0, 5, %r1;
setp.eq.u32 %p0, %r1, 0;
@%p0 bra try;
sub.u32 %r2, %r1, 1;
{ .param .b64 w; .param .b32 a; .param .b32 b; .param .b32 r; st.param.b64 [w], %rd0; st.param.b32 [a], %r4; st.param.b32 [b], %r2;
call (r), take, (w, a, b); ld.param.b32 %r3, [r]; }
xor.b32 %r4, %r3, %r0;
bra leave;
try:
atom.global.cas.b32 %r5, [%rd0], 0, 1;
setp.ne.u32 %p1, %r5, 0;
@%p1 bra try;
membar.gl;
leave:
st.param.b32 [result], %r4;
ret;
}
)";

std::string Register(Choices& choices) { return "%r" + std::to_string(choices.Below(kRegisters)); }

std::string Arithmetic(Choices& choices) {
  static constexpr const char* kOperations[] = {"add.u32", "sub.u32", "mul.lo.u32", "mul.hi.s32", "mul.hi.u32",
                                                "and.b32", "or.b32",  "xor.b32",    "min.s32",    "max.u32",
                                                "shl.b32", "shr.u32", "shr.s32",    "div.u32",    "rem.u32"};
  const std::string to = Register(choices), a = Register(choices), b = Register(choices);
  // The result of a division by zero is undefined.
  return "or.b32 %r23, " + b + ", 1;\n" + kOperations[choices.Below(std::size(kOperations))] + " " + to + ", " + a +
         ", %r23;\n";
}

std::string Statement(Choices& choices, uint32_t number) {
  const std::string label = "l" + std::to_string(number);
  switch (choices.Below(12)) {
    case 0: return "mov.u32 " + Register(choices) + ", " + std::to_string(choices.Below(256) * 0x01010101u) + ";\n";
    case 1: return "mov.u32 " + Register(choices) + ", %tid.x;\n";
    case 2: return "popc.b32 " + Register(choices) + ", " + Register(choices) + ";\n";
    case 3: return "brev.b32 " + Register(choices) + ", " + Register(choices) + ";\n";
    case 4: {  // a load from the table, at whatever the register says
      const std::string at = Register(choices), to = Register(choices);
      return "and.b32 %r20, " + at + ", " + std::to_string(kTableWords - 1) +
             ";\nmul.wide.u32 %rd2, %r20, 4;\nadd.s64 %rd3, %rd0, %rd2;\nld.global.u32 " + to + ", [%rd3];\n";
    }
    case 5: {  // a branch that lanes take differently
      const std::string a = Register(choices), b = Register(choices);
      return "setp.lt.u32 %p1, " + a + ", " + b + ";\n@%p1 bra " + label + ";\n" + Arithmetic(choices) +
             Arithmetic(choices) + label + ":\n";
    }
    case 6: {  // a loop whose length differs by lane
      const std::string length = Register(choices);
      return "and.b32 %r21, " + length + ", 7;\n" + label + ":\n" + Arithmetic(choices) +
             "sub.u32 %r21, %r21, 1;\nsetp.gt.s32 %p1, %r21, 0;\n@%p1 bra " + label + ";\n";
    }
    case 7: {
      const std::string to = Register(choices), from = Register(choices), lane = Register(choices);
      return "shfl.sync.idx.b32 " + to + ", " + from + ", " + lane + ", 31, 0xffffffff;\n";
    }
    case 8: {
      const std::string to = Register(choices), a = Register(choices), b = Register(choices);
      return "setp.gt.s32 %p2, " + a + ", " + b + ";\nselp.b32 " + to + ", " + a + ", " + b + ", %p2;\n";
    }
    case 9:
    case 10: {  // a call by some of the lanes
      const std::string a = Register(choices), b = Register(choices), to = Register(choices);
      const bool locks = choices.Below(2) != 0;
      return "setp.lt.u32 %p1, " + a + ", " + b + ";\n@%p1 bra " + label + ";\nand.b32 %r24, " + b + ", 3;\n" +
             "{ .param .b64 w; .param .b32 a; .param .b32 b; .param .b32 r; st.param.b64 [w], %rd6; st.param.b32 "
             "[a], " +
             a + "; st.param.b32 [b], %r24;\n" + (locks ? "call (r), take, (w, a, b);" : "call (r), down, (a, b);") +
             " ld.param.b32 " + to + ", [r]; }\n" +
             (locks ? "membar.gl;\natom.global.exch.b32 %r25, [%rd6], 0;\n" : "") + label + ":\n";
    }
    default: return Arithmetic(choices);
  }
}

std::string MakePtx(Choices choices) {
  std::string ptx =
      ".version 8.0\n.target sm_80\n.address_size 64\n" + std::string(kFunctions) +
      ".visible .entry k(.param .u64 table, .param .u64 out, .param .u64 lock)\n{\n"
      ".reg .pred %p<4>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<8>;\n"
      "ld.param.u64 %rd0, [table];\nld.param.u64 %rd1, [out];\nld.param.u64 %rd6, [lock];\nmov.u32 %r0, %tid.x;\n";
  for (uint32_t r = 1; r < kRegisters; ++r)
    ptx += "mov.u32 %r" + std::to_string(r) + ", " + std::to_string(r * 77) + ";\n";
  for (uint32_t i = 0; i < kMostStatements && !choices.empty(); ++i) ptx += Statement(choices, i);
  ptx += "mov.u32 %r22, %tid.x;\nmul.wide.u32 %rd4, %r22, " + std::to_string(4 * kRegisters) +
         ";\nadd.s64 %rd5, %rd1, %rd4;\n";
  for (uint32_t r = 0; r < kRegisters; ++r)
    ptx += "st.global.u32 [%rd5+" + std::to_string(4 * r) + "], %r" + std::to_string(r) + ";\n";
  return ptx + "ret;\n}\n";
}

std::vector<uint32_t> Run(const std::string& ptx, CompileOptions options, bool known_block) {
  static std::vector<uint32_t> table(kTableWords);
  for (uint32_t i = 0; i < kTableWords; ++i) table[i] = i * 2654435761u;
  std::vector<uint32_t> out(kThreads * kRegisters);
  const uint32_t spare_stack_bytes = options.optimize == 0 ? 4 << 20 : 0;
  auto module = TestModule::Open(ptx, std::move(options));
  if (!module) {
    std::fprintf(stderr, "%s\n%s\n", module.error().text.c_str(), ptx.c_str());
    std::abort();
  }
  GridLaunch launch;
  launch.spare_stack_bytes = spare_stack_bytes;
  uint32_t lock = 0;
  launch.Param(table.data()).Param(out.data()).Param(&lock);
  launch.block = {kThreads, 1, 1};
  const auto kernel = module->Kernel("k", known_block ? launch.block : std::array<uint32_t, 3>{});
  if (!kernel) {
    std::fprintf(stderr, "%s\n%s\n", kernel.error().text.c_str(), ptx.c_str());
    std::abort();
  }
  const GridResult result = RunGrid((*kernel)->descriptor(), launch);
  if (result.fault || lock != 0) {
    const GuestFault fault = result.fault.value_or(GuestFault{});
    std::fprintf(stderr, "fault %u in PTX line %u %s, lock %u\n%s\n", static_cast<unsigned>(fault.kind), fault.ptx_line,
                 fault.text.c_str(), lock, ptx.c_str());
    std::abort();
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string ptx = MakePtx(Choices(data, size));
  const auto fast = Run(ptx, {.target = HostTarget::Detect()}, true);
  const auto plain = Run(ptx, {.optimize = 0, .target = HostTarget::Named("x86-64-v3")}, false);
  if (fast != plain) {
    for (uint32_t i = 0; i < fast.size(); ++i) {
      if (fast[i] != plain[i])
        std::fprintf(stderr, "thread %u register %u: %#x and %#x\n", i / kRegisters, i % kRegisters, fast[i], plain[i]);
    }
    std::fprintf(stderr, "%s\n", ptx.c_str());
    std::abort();
  }
  return 0;
}
