#include "compiler/fence/print_functions.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "guest/fault_kind.h"
#include "guest/gpu/fenced_ptx.h"
#include "guest/gpu/print_fifo.h"
#include "guest/print_format.h"

namespace tutti::compiler::fencing {
namespace {

// A character is a bit, in a word for each half of ASCII.
constexpr uint64_t MaskOf(std::string_view characters, char first) {
  uint64_t mask = 0;
  for (const char c : characters) mask |= c >= first && c < first + 64 ? uint64_t{1} << (c - first) : 0;
  return mask;
}
constexpr char kLow = 0, kHigh = 64;

// As guest/print_format.cc reads a format.
constexpr uint64_t kStays = MaskOf("-+ #.0123456789", kLow);
constexpr uint64_t kStaysHigh = MaskOf("h", kHigh);
constexpr uint64_t kMakesLong = MaskOf("ljztLq", kHigh);
constexpr uint64_t kInteger = MaskOf("diuoxX", kHigh);
constexpr uint64_t kEightBytes = MaskOf("spfFeEgGaAn", kHigh);

// The byte in %r22 to that offset of the record, and 8 bytes of %rd32, in the pass that writes.
std::string Put(std::string_view offset) {
  return fmt::format(
      "\tsetp.lt.and.u64 %p1, {0}, %rd30, %p7;\n\tadd.u64 %rd31, %rd27, {0};\n\tand.b64 %rd31, %rd31, {1};\n"
      "\tadd.u64 %rd31, %rd31, %rd26;\n\t@%p1 st.global.u8 [%rd31+{2}], %r22;\n",
      offset, guest::kPrintRingBytes - 1, offsetof(guest::PrintFifo, ring));
}
std::string PutWord(std::string_view offset) {
  return fmt::format(
      "\tadd.u64 %rd31, {0}, 7;\n\tsetp.lt.and.u64 %p1, %rd31, %rd30, %p7;\n\tadd.u64 %rd31, %rd27, {0};\n"
      "\tand.b64 %rd31, %rd31, {1};\n\tadd.u64 %rd31, %rd31, %rd26;\n\t@%p1 st.global.u64 [%rd31+{2}], %rd32;\n",
      offset, guest::kPrintRingBytes - 1, offsetof(guest::PrintFifo, ring));
}

// %r29: whether the character %r22, which %r25 counts from `first`, is in the mask.
std::string IsIn(uint64_t mask) {
  return fmt::format(
      "\tmov.u64 %rd34, {};\n\tshr.u64 %rd34, %rd34, %r25;\n\tcvt.u32.u64 %r29, %rd34;\n"
      "\tand.b32 %r29, %r29, 1;\n\tsetp.ne.u32 %p1, %r29, 0;\n",
      mask);
}

// Two passes over the same bytes: the first measures, the second (%p7) writes. One place reads them all, and looks
// whether they may be read: a character of the format, a byte of an argument, or one of a string.
//
// %rd20 the format, %rd21 the arguments; %rd22, %rd23, %rd24 what is taken of the format, of the arguments and of the
// strings; %rd25 the last argument, %rd33 where its string goes on, %r28 what is taken of that. %r20 what is read
// (kText ..), %r26 what comes after an argument, %r27 how many arguments, %r24 the bytes left of one, %r25 its bits so
// far, %r23 whether it is long, %r21 whether it is a string. %rd26 the FIFO, %rd27 where the record begins, %rd28 and
// %rd29 where its arguments and strings do, %rd30 its bytes.
enum Reads : uint32_t { kText, kConversion, kArgument, kString };

std::string Print(const Meanings& meanings) {
  std::string text = fmt::format(
      R"(.func (.param .b32 result) {0}(.param .b64 format, .param .b64 arguments, .param .b32 sort, .param .b32 place, .param .b32 line, .param .b64 low, .param .b64 high)
{{
	.reg .pred %p<8>;
	.reg .b32 %r<32>;
	.reg .b64 %rd<40>;
	ld.param.u64 %rd20, [format];
	ld.param.u64 %rd21, [arguments];
	ld.param.u32 %r30, [sort];
	mov.u32 %r27, -1;
	setp.eq.u64 %p1, %rd20, 0;
	@%p1 bra RETURN;
	setp.ne.u64 %p7, %rd20, %rd20;
	mov.u64 %rd26, 0;
	mov.u64 %rd33, 0;
	mov.u64 %rd27, 0;
	mov.u64 %rd28, 0;
	mov.u64 %rd29, 0;
	mov.u64 %rd30, 0;
PASS:
	mov.u64 %rd22, 0;
	mov.u64 %rd23, 0;
	mov.u64 %rd24, 0;
	mov.u32 %r27, 0;
	mov.u32 %r20, {1};
READ:
	mov.u64 %rd1, %rd33;
	setp.eq.u32 %p1, %r20, {4};
	@%p1 bra LOOK;
	add.u64 %rd1, %rd21, %rd23;
	setp.eq.u32 %p1, %r20, {3};
	@%p1 bra OWN_OR_LOOK;
	add.u64 %rd1, %rd20, %rd22;
OWN_OR_LOOK:
	setp.ne.u32 %p1, %r30, 0;
	@%p1 bra LEGAL;
LOOK:
	mov.u64 %rd2, 1;
	mov.u32 %r1, 0;
	mov.u32 %r2, 0;
)",
      kPrintFunction, uint32_t{kText}, uint32_t{kConversion}, uint32_t{kArgument}, uint32_t{kString});
  text += AddressLookup(meanings);
  // A string without an end ends where memory does.
  text += fmt::format(R"(ILLEGAL:
	mov.u32 %r22, 0;
	setp.eq.u32 %p1, %r20, {0};
	@%p1 bra TAKEN;
	mov.u32 %r6, {1};
	ld.param.u32 %r8, [place];
	ld.param.u32 %r9, [line];
{2}LEGAL:
	ld.u8 %r22, [%rd1];
TAKEN:
	setp.eq.u32 %p1, %r20, {0};
	@%p1 bra STRING;
	setp.eq.u32 %p1, %r20, {3};
	@%p1 bra ARGUMENT;
	setp.ge.u64 %p1, %rd22, {4};
	selp.u32 %r22, 0, %r22, %p1;
	add.u64 %rd32, %rd22, {5};
{6}	add.u64 %rd22, %rd22, 1;
	setp.eq.u32 %p1, %r22, 0;
	@%p1 bra OVER;
	setp.eq.u32 %p1, %r20, {7};
	@%p1 bra CONVERSION;
	setp.ne.u32 %p1, %r22, 37;
	@%p1 bra READ;
	mov.u32 %r20, {7};
	mov.u32 %r23, 4;
	bra READ;
)",
                      uint32_t{kString}, static_cast<uint32_t>(guest::FaultKind::kIllegalAddress), FaultRecord(),
                      uint32_t{kArgument}, guest::kMostPrintFormatBytes - 1, sizeof(guest::PrintHead), Put("%rd32"),
                      uint32_t{kConversion});
  // What of a conversion does not end it; `*` is an argument of its own.
  text += fmt::format(R"(CONVERSION:
	mov.u32 %r21, 0;
	mov.u32 %r26, {0};
	mov.u32 %r24, 4;
	setp.eq.u32 %p1, %r22, 42;
	@%p1 bra BEGIN;
	mov.u32 %r25, %r22;
	setp.ge.u32 %p2, %r22, 64;
	@%p2 bra LETTER;
{1}	@%p1 bra READ;
	mov.u32 %r20, {2};
	bra READ;
LETTER:
	sub.u32 %r25, %r22, 64;
{3}	@%p1 bra READ;
{4}	@!%p1 bra ENDS;
	mov.u32 %r23, 8;
	bra READ;
ENDS:
	mov.u32 %r20, {2};
	mov.u32 %r26, {2};
	setp.eq.u32 %p1, %r22, 99;
	@%p1 bra BEGIN;
	mov.u32 %r24, %r23;
{5}	@%p1 bra BEGIN;
	mov.u32 %r24, 8;
	setp.eq.u32 %p1, %r22, 115;
	selp.u32 %r21, 1, 0, %p1;
{6}	@!%p1 bra READ;
)",
                      uint32_t{kConversion}, IsIn(kStays), uint32_t{kText}, IsIn(kStaysHigh), IsIn(kMakesLong),
                      IsIn(kInteger), IsIn(kEightBytes));
  // An argument of %r24 bytes, aligned to as many.
  text += fmt::format(R"(BEGIN:
	mov.u32 %r20, %r26;
	setp.ge.u32 %p1, %r27, {0};
	@%p1 bra READ;
	add.u32 %r27, %r27, 1;
	cvt.u64.u32 %rd32, %r24;
	sub.u64 %rd32, %rd32, 1;
	add.u64 %rd23, %rd23, %rd32;
	not.b64 %rd32, %rd32;
	and.b64 %rd23, %rd23, %rd32;
	mov.u64 %rd25, 0;
	mov.u32 %r25, 0;
	mov.u32 %r20, {1};
	bra READ;
ARGUMENT:
	add.u64 %rd32, %rd28, %rd23;
{2}	cvt.u64.u32 %rd32, %r22;
	shl.b64 %rd32, %rd32, %r25;
	or.b64 %rd25, %rd25, %rd32;
	add.u32 %r25, %r25, 8;
	add.u64 %rd23, %rd23, 1;
	sub.u32 %r24, %r24, 1;
	setp.ne.u32 %p1, %r24, 0;
	@%p1 bra READ;
	mov.u32 %r20, %r26;
	setp.eq.u32 %p1, %r21, 0;
	@%p1 bra READ;
	setp.eq.u64 %p1, %rd25, 0;
	@%p1 bra READ;
	mov.u64 %rd33, %rd25;
	mov.u32 %r28, 0;
	mov.u32 %r20, {3};
	add.u64 %rd34, %rd28, %rd23;
	sub.u64 %rd34, %rd34, 8;
	add.u64 %rd32, %rd29, %rd24;
{4}	bra READ;
STRING:
	add.u32 %r28, %r28, 1;
	setp.ge.u32 %p1, %r28, {5};
	selp.u32 %r22, 0, %r22, %p1;
	add.u64 %rd32, %rd29, %rd24;
{2}	add.u64 %rd24, %rd24, 1;
	add.u64 %rd33, %rd33, 1;
	setp.ne.u32 %p1, %r22, 0;
	@%p1 bra READ;
	mov.u32 %r20, {6};
	bra READ;
)",
                      guest::kMostPrintArguments, uint32_t{kArgument}, Put("%rd32"), uint32_t{kString},
                      PutWord("%rd34"), guest::kMostPrintStringBytes, uint32_t{kText});
  // Two reads have no order, so what has been consumed may be more than what had been reserved: then that has changed,
  // and is compared again.
  text += fmt::format(R"(OVER:
	@%p7 bra WRITTEN;
	add.u64 %rd28, %rd22, {0};
	and.b64 %rd28, %rd28, -8;
	add.u64 %rd29, %rd23, 7;
	and.b64 %rd29, %rd29, -8;
	add.u64 %rd29, %rd29, %rd28;
	add.u64 %rd30, %rd24, 7;
	and.b64 %rd30, %rd30, -8;
	add.u64 %rd30, %rd30, %rd29;
	ld.OWN.u64 %rd26, [__tutti_fence+{1}];
	setp.eq.u64 %p1, %rd26, 0;
	@%p1 bra RETURN;
	ld.OWN.u64 %rd35, [__tutti_fence+{2}];
RESERVE:
	ld.volatile.global.u64 %rd31, [%rd26];
	ld.volatile.global.u64 %rd27, [%rd35];
	add.u64 %rd32, %rd27, %rd30;
	sub.u64 %rd31, %rd32, %rd31;
	setp.gt.s64 %p1, %rd31, {3};
	@%p1 bra RETURN;
	atom.global.cas.b64 %rd31, [%rd35], %rd27, %rd32;
	setp.ne.u64 %p1, %rd31, %rd27;
	@%p1 bra RESERVE;
	setp.eq.u64 %p7, %rd30, %rd30;
	bra PASS;
WRITTEN:
	cvt.u64.u32 %rd32, %r30;
	shl.b64 %rd32, %rd32, 32;
	mov.u64 %rd34, 0;
{4}	mov.u64 %rd32, %rd28;
	mov.u64 %rd34, 8;
{4}	membar.sys;
	and.b64 %rd31, %rd27, {5};
	add.u64 %rd31, %rd31, %rd26;
	cvt.u32.u64 %r29, %rd30;
	st.volatile.global.u32 [%rd31+{6}], %r29;
RETURN:
	st.param.b32 [result], %r27;
	ret;
}}

)",
                      sizeof(guest::PrintHead) + 7, offsetof(guest::FenceWords, prints),
                      offsetof(guest::FenceWords, printed), guest::kPrintRingBytes, PutWord("%rd34"),
                      guest::kPrintRingBytes - 1, offsetof(guest::PrintFifo, ring));
  return text;
}

// Its arguments lie as vprintf's do, of its own, as the format is.
std::string Assert() {
  constexpr std::string_view kFormat = "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n";
  std::string bytes;
  for (const char c : kFormat) bytes += fmt::format("{}, ", static_cast<int>(c));
  return fmt::format(
      R"(.OWN .align 1 .b8 __tutti_assertion[{0}] = {{{1}0}};
.func {2}(.param .b64 message, .param .b64 file, .param .b32 number, .param .b64 function, .param .b32 place, .param .b32 line, .param .b64 low, .param .b64 high)
{{
	.local .align 8 .b8 said[56];
	.reg .b32 %r<10>;
	.reg .b64 %rd<10>;
	ld.param.u64 %rd1, [message];
	ld.param.u64 %rd2, [file];
	ld.param.u32 %r1, [number];
	ld.param.u64 %rd3, [function];
	st.local.u64 [said], %rd2;
	st.local.u32 [said+8], %r1;
	st.local.u64 [said+16], %rd3;
	mov.u32 %r2, %ctaid.x;
	st.local.u32 [said+24], %r2;
	mov.u32 %r2, %ctaid.y;
	st.local.u32 [said+28], %r2;
	mov.u32 %r2, %ctaid.z;
	st.local.u32 [said+32], %r2;
	mov.u32 %r2, %tid.x;
	st.local.u32 [said+36], %r2;
	mov.u32 %r2, %tid.y;
	st.local.u32 [said+40], %r2;
	mov.u32 %r2, %tid.z;
	st.local.u32 [said+44], %r2;
	st.local.u64 [said+48], %rd1;
	ld.param.u32 %r3, [place];
	ld.param.u32 %r4, [line];
	ld.param.u64 %rd4, [low];
	ld.param.u64 %rd5, [high];
	mov.u64 %rd6, __tutti_assertion;
	cvta.OWN.u64 %rd6, %rd6;
	mov.u64 %rd7, said;
	cvta.local.u64 %rd7, %rd7;
	call (%r5), {3}, (%rd6, %rd7, {4}, %r3, %r4, %rd4, %rd5);
	ret;
}}

)",
      kFormat.size() + 1, bytes, kAssertFunction, kPrintFunction, static_cast<uint32_t>(guest::PrintKind::kAssertion));
}

}  // namespace

std::string PrintFunctions(const Meanings& meanings) { return Print(meanings) + Assert(); }

}  // namespace tutti::compiler::fencing
