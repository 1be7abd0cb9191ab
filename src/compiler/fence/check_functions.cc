#include "compiler/fence/check_functions.h"

#include <fmt/format.h>

#include "compiler/fence/launch_gate.h"
#include "compiler/fence/print_functions.h"
#include "guest/fault_kind.h"
#include "guest/gpu/fenced_ptx.h"

namespace tutti::compiler::fencing {
namespace {

// Writes the record if it is the first, and ends the thread. %rd1: address, %r6: kind, %r8: function, %r9: line. It is
// inlined into both functions: the assembler has trouble with functions that call functions in kernels with few
// registers.
constexpr const char* kRecord = R"(	ld.OWN.u64 %rd18, [__tutti_fence+16];
	setp.eq.u64 %p1, %rd18, 0;
	@%p1 bra LEAVE;
	atom.cas.b32 %r10, [%rd18], 0, 1;
	setp.ne.u32 %p1, %r10, 0;
	@%p1 bra LEAVE;
	st.u32 [%rd18+4], %r6;
	st.u64 [%rd18+8], %rd1;
	st.u32 [%rd18+16], %r9;
	st.u32 [%rd18+20], %r8;
	mov.u32 %r10, %ctaid.x;
	st.u32 [%rd18+24], %r10;
	mov.u32 %r10, %ctaid.y;
	st.u32 [%rd18+28], %r10;
	mov.u32 %r10, %ctaid.z;
	st.u32 [%rd18+32], %r10;
	mov.u32 %r10, %tid.x;
	st.u32 [%rd18+36], %r10;
	mov.u32 %r10, %tid.y;
	st.u32 [%rd18+40], %r10;
	mov.u32 %r10, %tid.z;
	st.u32 [%rd18+44], %r10;
	ld.OWN.u64 %rd19, [__tutti_fence+24];
	cvt.u32.u64 %r10, %rd19;
	st.u32 [%rd18+48], %r10;
	membar.sys;
	st.volatile.u32 [%rd18], 2;
LEAVE:
	exit;
)";

constexpr const char* kRegisters = "\t.reg .pred %p<6>;\n\t.reg .b32 %r<12>;\n\t.reg .b64 %rd<20>;\n";

// Registers of __tutti_check: %rd1 address, %rd2 bytes, %r1 the kind of access, %r2 its region. %rd4 .. %rd6 and %p1,
// %p2 are scratch for InRange.

// Goes to LEGAL if [%rd1, +%rd2) lies in [start, +size), both registers or numbers.
std::string InRange(const std::string& address, const std::string& start, const std::string& size) {
  return fmt::format(
      "\tsub.u64 %rd4, {0}, {1};\n\tsetp.le.u64 %p1, %rd4, {2};\n\tsub.u64 %rd5, {2}, %rd4;\n"
      "\tsetp.le.and.u64 %p1, %rd2, %rd5, %p1;\n\t@%p1 bra LEGAL;\n",
      address, start, size);
}

std::string Table(uint32_t rows) {
  return fmt::format(
      "\tmov.u64 %rd7, {0};\n\tadd.u64 %rd8, %rd7, {1};\nNEXT:\n"
      "\tld.OWN.u64 %rd9, [%rd7];\n\tld.OWN.u64 %rd10, [%rd7+8];\n\tld.OWN.u64 %rd11, [%rd7+16];\n"
      "\tadd.u64 %rd7, %rd7, {2};\n"
      "\tcvt.u32.u64 %r3, %rd11;\n\tand.b32 %r3, %r3, %r1;\n\tsetp.ne.u32 %p3, %r3, 0;\n\t@%p3 bra SKIP;\n"
      "{3}SKIP:\n\tsetp.lt.u64 %p3, %rd7, %rd8;\n\t@%p3 bra NEXT;\n",
      kVariableTable, rows * kTableRowBytes, kTableRowBytes, InRange("%rd1", "%rd9", "%rd10"));
}

// Goes to LEGAL if all of [%rd1, +%rd2) has memory in the window, by the map. %rd4: from the window's begin; %rd5 and
// %rd6: the slab that is looked at, and the last one; %r3: the bits that are wanted.
// What a kernel has read of the map stays right until it ends, or would only let it do more: caches do no harm.
std::string InWindow() {
  return fmt::format(R"(	ld.OWN.u64 %rd12, [__tutti_fence+32];
	ld.OWN.u64 %rd13, [__tutti_fence+40];
	sub.u64 %rd4, %rd1, %rd12;
	setp.ge.u64 %p1, %rd4, %rd13;
	@%p1 bra UNMAPPED;
	sub.u64 %rd5, %rd13, %rd4;
	setp.gt.u64 %p1, %rd2, %rd5;
	@%p1 bra UNMAPPED;
	setp.eq.u64 %p1, %rd2, 0;
	@%p1 bra LEGAL;
	add.u64 %rd6, %rd4, %rd2;
	sub.u64 %rd6, %rd6, 1;
	shr.u64 %rd6, %rd6, {0};
	shr.u64 %rd5, %rd4, {0};
	ld.OWN.u64 %rd13, [__tutti_fence+48];
	add.u64 %rd13, %rd13, %rd5;
	and.b32 %r3, %r1, {1};
	setp.ne.u32 %p1, %r3, 0;
	selp.u32 %r3, {2}, {3}, %p1;
SLAB:
	ld.global.u8 %r4, [%rd13];
	and.b32 %r4, %r4, %r3;
	setp.ne.u32 %p1, %r4, %r3;
	@%p1 bra UNMAPPED;
	setp.ge.u64 %p1, %rd5, %rd6;
	@%p1 bra LEGAL;
	add.u64 %rd5, %rd5, 1;
	add.u64 %rd13, %rd13, 1;
	bra SLAB;
UNMAPPED:
)",
                     guest::kFenceSlabLog2, kWriteBit, guest::kFenceReadable | guest::kFenceWritable,
                     uint32_t{guest::kFenceReadable});
}

}  // namespace

std::string FaultRecord() { return kRecord; }

std::string AddressLookup(const Meanings& meanings) {
  std::string text = "\tld.OWN.u64 %rd12, [__tutti_fence];\n\tld.OWN.u64 %rd13, [__tutti_fence+8];\n" +
                     InRange("%rd1", "%rd12", "%rd13") + InWindow();
  if (meanings.variables != 0) text += Table(meanings.variables);
  text += "\tsetp.ne.u32 %p3, %r2, 0;\n\t@%p3 bra ILLEGAL;\n";
  if (meanings.shared) {
    text += fmt::format(
        "\tisspacep.shared %p3, %rd1;\n\t@!%p3 bra NOT_SHARED;\n\tcvta.to.shared.u64 %rd14, %rd1;\n"
        "\tmov.u64 %rd15, {};\n\tmov.u32 %r4, %dynamic_smem_size;\n\tcvt.u64.u32 %rd16, %r4;\n"
        "\tadd.u64 %rd16, %rd15, %rd16;\n\tand.b64 %rd15, %rd15, {};\n\tsub.u64 %rd16, %rd16, %rd15;\n"
        "{}\tbra ILLEGAL;\nNOT_SHARED:\n",
        kDynamicShared, kSharedBlockMask, InRange("%rd14", "%rd15", "%rd16"));
  }
  if (meanings.local) {
    text +=
        "\tisspacep.local %p3, %rd1;\n\t@!%p3 bra NOT_LOCAL;\n\tcvta.to.local.u64 %rd14, %rd1;\n"
        "\tld.param.u64 %rd15, [low];\n\tld.param.u64 %rd16, [high];\n"
        "\tmax.u64 %rd16, %rd16, %rd15;\n\tsub.u64 %rd16, %rd16, %rd15;\n" +
        InRange("%rd14", "%rd15", "%rd16") + "NOT_LOCAL:\n";
  }
  if (meanings.parameters) {
    text += fmt::format(
        "\tand.b32 %r3, %r1, {};\n\tsetp.eq.u32 %p3, %r3, 0;\n\tisspacep.param %p4, %rd1;\n"
        "\tand.pred %p3, %p3, %p4;\n\t@%p3 bra LEGAL;\n",
        kWriteBit);
  }
  if (meanings.workspace) {
    text +=
        "\tmov.b32 %r4, %envreg1;\n\tmov.b32 %r5, %envreg2;\n\tmov.b64 %rd15, {%r5, %r4};\n"
        "\tsetp.eq.u64 %p3, %rd15, 0;\n\t@%p3 bra NO_WORKSPACE;\n" +
        InRange("%rd1", "%rd15", "8") + "\tmov.b64 %rd15, {%r4, %r5};\n" + InRange("%rd1", "%rd15", "8") +
        "NO_WORKSPACE:\n";
  }
  return text;
}

namespace {

std::string Poll() {
  return fmt::format(R"(.func {0}()
{{
{1}	ld.OWN.u64 %rd1, [__tutti_fence+56];
	setp.eq.u64 %p1, %rd1, 0;
	@%p1 bra DONE;
	ld.volatile.global.u32 %r1, [%rd1];
	setp.eq.u32 %p1, %r1, 0;
	@%p1 bra DONE;
	exit;
DONE:
	ret;
}}
)",
                     kPollFunction, kRegisters);
}

std::string Functions(const Meanings& meanings) {
  const auto kind = [](guest::FaultKind fault) { return static_cast<uint32_t>(fault); };
  return fmt::format(R"(.func {0}(.param .b64 address, .param .b32 kind, .param .b32 place, .param .b32 line)
{{
{1}	ld.param.u64 %rd1, [address];
	ld.param.u32 %r6, [kind];
	ld.param.u32 %r8, [place];
	ld.param.u32 %r9, [line];
{2}}}

)",
                     kFaultFunction, kRegisters, kRecord) +
         fmt::format(
             R"(.func {0}(.param .b64 address, .param .b64 bytes, .param .b32 what, .param .b32 place, .param .b32 line, .param .b64 low, .param .b64 high)
{{
{1}	ld.param.u64 %rd1, [address];
	ld.param.u64 %rd2, [bytes];
	ld.param.u32 %r1, [what];
	shr.u32 %r7, %r1, {5};
	mov.u64 %rd17, 1;
	shl.b64 %rd17, %rd17, %r7;
	sub.u64 %rd17, %rd17, 1;
	and.b64 %rd17, %rd17, %rd1;
	setp.eq.u64 %p5, %rd17, 0;
	and.b32 %r2, %r1, 7;
	setp.gt.u32 %p3, %r2, 1;
	@%p3 bra OUTSIDE;
{2}ILLEGAL:
	mov.u32 %r6, {3};
	bra FAULT;
OUTSIDE:
	@%p5 bra ILLEGAL;
	bra MISALIGNED;
LEGAL:
	@%p5 bra DONE;
MISALIGNED:
	mov.u32 %r6, {4};
FAULT:
	ld.param.u32 %r8, [place];
	ld.param.u32 %r9, [line];
{6}DONE:
	ret;
}}
)",
             kCheckFunction, kRegisters, AddressLookup(meanings), kind(guest::FaultKind::kIllegalAddress),
             kind(guest::FaultKind::kMisalignedAddress), kAlignShift, kRecord);
}

}  // namespace

std::string CheckFunctions(const Meanings& meanings) {
  std::string text = Functions(meanings) + Poll();
  if (meanings.begins) text += BeginFunction();
  if (meanings.prints) text += PrintFunctions(meanings);
  const std::string_view own = meanings.full ? "global" : "const", standing = kOwnSpace;
  for (size_t at = 0; (at = text.find(standing, at)) != std::string::npos;) text.replace(at, standing.size(), own);
  return text;
}

}  // namespace tutti::compiler::fencing
