// The families of instructions: for each opcode the function that lowers it. One source file per family.
#pragma once

#include "compiler/lower/emitter.h"

namespace tutti::compiler::lowering {

// How a guard (@p) applies to the instruction.
enum class Guarding : uint8_t {
  kSelect,  // no effect but its destination: computed always, the guard selects between new and old value
  kBranch,  // has a side effect: branched around
  kControl,  // handled by the family
};

struct Family {
  void (*emit)(Emitter& e) = nullptr;
  Guarding guarding = Guarding::kSelect;
};

// Null for opcodes that are not supported.
const Family* FamilyOf(ptx::Opcode opcode);

// arithmetic.cc: dispatches an opcode that exists for several kinds of number to the family of its type.
void EmitAdd(Emitter& e);
void EmitSub(Emitter& e);
void EmitMul(Emitter& e);
void EmitMad(Emitter& e);  // mad and fma
void EmitDiv(Emitter& e);
void EmitAbs(Emitter& e);
void EmitNeg(Emitter& e);
void EmitMinMax(Emitter& e);

// integer.cc
void EmitIntegerAddSub(Emitter& e, bool subtract);
void EmitIntegerMul(Emitter& e);
void EmitIntegerMad(Emitter& e);
void EmitIntegerDivRem(Emitter& e);
void EmitIntegerAbs(Emitter& e);
void EmitIntegerNeg(Emitter& e);
void EmitIntegerMinMax(Emitter& e);
void EmitMul24(Emitter& e);  // mul24 and mad24
void EmitSad(Emitter& e);
// carry.cc: add, sub, mad with .cc, and addc, subc, madc
bool UsesCarry(const Emitter& e);
void EmitCarryAddSub(Emitter& e);
void EmitCarryMad(Emitter& e);
// packed.cc: two 16-bit numbers in 32 bits; dp4a, dp2a, cvt.pack
void EmitPackedInteger(Emitter& e);
void EmitDotProduct(Emitter& e);
void EmitCvtPack(Emitter& e);
// video.cc
void EmitVideo(Emitter& e);  // vadd, vsub, vabsdiff, vmin, vmax, vshl, vshr, vset
void EmitVideoMad(Emitter& e);
void EmitSimdVideo(Emitter& e);  // the same of two or four parts

// float.cc: f32 and f64
void EmitFloatAddSub(Emitter& e, bool subtract);
void EmitFloatMul(Emitter& e);
void EmitFloatFma(Emitter& e);
void EmitFloatPair(Emitter& e);
void EmitFloatDiv(Emitter& e);
void EmitFloatAbs(Emitter& e);
void EmitFloatNeg(Emitter& e);
void EmitFloatMinMax(Emitter& e);
void EmitCopysign(Emitter& e);
void EmitTestp(Emitter& e);
void EmitRcpSqrt(Emitter& e);  // rcp, sqrt, rsqrt
// approximate.cc: sin, cos, ex2, lg2, tanh
void EmitApproximate(Emitter& e);
// half.cc: f16, bf16 and pairs
void EmitHalfArithmetic(Emitter& e);

// compare.cc
void EmitSetp(Emitter& e);
void EmitSet(Emitter& e);
void EmitSelp(Emitter& e);
void EmitSlct(Emitter& e);

// logic.cc
void EmitLogic(Emitter& e);  // and, or, xor, not, cnot
void EmitLop3(Emitter& e);
void EmitShift(Emitter& e);  // shl, shr
void EmitFunnelShift(Emitter& e);
// bitfield.cc
void EmitBitCount(Emitter& e);  // popc, clz, brev
void EmitBfind(Emitter& e);
void EmitBfe(Emitter& e);
void EmitBfi(Emitter& e);
void EmitBmsk(Emitter& e);
void EmitSzext(Emitter& e);
void EmitPrmt(Emitter& e);
void EmitFns(Emitter& e);

// convert.cc
void EmitCvt(Emitter& e);

// move.cc
void EmitMov(Emitter& e);
void EmitCvta(Emitter& e);
void EmitIsspacep(Emitter& e);

// cluster.cc
void EmitMapa(Emitter& e);
void EmitGetctarank(Emitter& e);

// memory.cc
void EmitLd(Emitter& e);
void EmitSt(Emitter& e);
void EmitNothing(Emitter& e);  // prefetch, discard, and other advice
void EmitCreatepolicy(Emitter& e);
void EmitMultimem(Emitter& e);
// atomic.cc
void EmitAtom(Emitter& e);  // atom and red
// texture.cc
void EmitTex(Emitter& e);
void EmitTld4(Emitter& e);
void EmitSuld(Emitter& e);
void EmitSust(Emitter& e);
void EmitSured(Emitter& e);
void EmitTextureQuery(Emitter& e);
// async.cc
void EmitCp(Emitter& e);
void EmitStBulk(Emitter& e);
// mbarrier.cc
void EmitMbarrier(Emitter& e);
void EmitClusterLaunchControl(Emitter& e);

// control.cc
void EmitBra(Emitter& e);
void EmitBrx(Emitter& e);
void EmitRet(Emitter& e);
void EmitExit(Emitter& e);
void EmitTrap(Emitter& e);
// call.cc
void EmitCall(Emitter& e);

// stack.cc
void EmitAlloca(Emitter& e);
void EmitStackSave(Emitter& e);
void EmitStackRestore(Emitter& e);
// The function takes memory from its thread's stack, or asks for the top.
bool UsesStack(const ptx::Function& function);

// barrier.cc
void EmitBarrier(Emitter& e);  // bar and barrier
void EmitFence(Emitter& e);    // membar and fence
void EmitNanosleep(Emitter& e);
// warp.cc
void EmitShfl(Emitter& e);
void EmitVote(Emitter& e);
void EmitMatch(Emitter& e);
void EmitRedux(Emitter& e);
void EmitActivemask(Emitter& e);
void EmitElect(Emitter& e);

// tensor.cc
void EmitTensorCopy(Emitter& e);  // cp{.reduce}.async.bulk{.prefetch}.tensor
void EmitTensormap(Emitter& e);

// wgmma.cc
void EmitWgmma(Emitter& e);
// wmma.cc, mma.cc
void EmitWmma(Emitter& e);
void EmitMma(Emitter& e);
void EmitLdmatrix(Emitter& e);
void EmitMovmatrix(Emitter& e);

}  // namespace tutti::compiler::lowering
