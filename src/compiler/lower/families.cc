#include "compiler/lower/families.h"

#include <array>

namespace tutti::compiler::lowering {
namespace {

using O = ptx::Opcode;
using G = Guarding;

struct Row {
  O opcode;
  void (*emit)(Emitter& e);
  G guarding = G::kSelect;
};

constexpr Row kRows[] = {
    {O::kAdd, EmitAdd},
    {O::kSub, EmitSub},
    {O::kMul, EmitMul},
    {O::kMad, EmitMad},
    {O::kFma, EmitMad},
    {O::kDiv, EmitDiv},
    {O::kRem, EmitIntegerDivRem},
    {O::kAbs, EmitAbs},
    {O::kNeg, EmitNeg},
    {O::kMin, EmitMinMax},
    {O::kMax, EmitMinMax},
    {O::kMul24, EmitMul24},
    {O::kMad24, EmitMul24},
    {O::kSad, EmitSad},
    {O::kAddc, EmitCarryAddSub},
    {O::kSubc, EmitCarryAddSub},
    {O::kMadc, EmitCarryMad},
    {O::kDp4a, EmitDotProduct},
    {O::kDp2a, EmitDotProduct},
    {O::kVadd, EmitVideo},
    {O::kVsub, EmitVideo},
    {O::kVabsdiff, EmitVideo},
    {O::kVmin, EmitVideo},
    {O::kVmax, EmitVideo},
    {O::kVshl, EmitVideo},
    {O::kVshr, EmitVideo},
    {O::kVset, EmitVideo},
    {O::kVmad, EmitVideoMad},
    {O::kVadd2, EmitSimdVideo},
    {O::kVadd4, EmitSimdVideo},
    {O::kVsub2, EmitSimdVideo},
    {O::kVsub4, EmitSimdVideo},
    {O::kVabsdiff2, EmitSimdVideo},
    {O::kVabsdiff4, EmitSimdVideo},
    {O::kVmin2, EmitSimdVideo},
    {O::kVmin4, EmitSimdVideo},
    {O::kVmax2, EmitSimdVideo},
    {O::kVmax4, EmitSimdVideo},
    {O::kVavrg2, EmitSimdVideo},
    {O::kVavrg4, EmitSimdVideo},
    {O::kVset2, EmitSimdVideo},
    {O::kVset4, EmitSimdVideo},
    {O::kCopysign, EmitCopysign},
    {O::kTestp, EmitTestp},
    {O::kRcp, EmitRcpSqrt},
    {O::kSqrt, EmitRcpSqrt},
    {O::kRsqrt, EmitRcpSqrt},
    {O::kSin, EmitApproximate},
    {O::kCos, EmitApproximate},
    {O::kEx2, EmitApproximate},
    {O::kLg2, EmitApproximate},
    {O::kTanh, EmitApproximate},
    {O::kSetp, EmitSetp},
    {O::kSet, EmitSet},
    {O::kSelp, EmitSelp},
    {O::kSlct, EmitSlct},
    {O::kAnd, EmitLogic},
    {O::kOr, EmitLogic},
    {O::kXor, EmitLogic},
    {O::kNot, EmitLogic},
    {O::kCnot, EmitLogic},
    {O::kLop3, EmitLop3},
    {O::kShl, EmitShift},
    {O::kShr, EmitShift},
    {O::kShf, EmitFunnelShift},
    {O::kPopc, EmitBitCount},
    {O::kClz, EmitBitCount},
    {O::kBrev, EmitBitCount},
    {O::kBfind, EmitBfind},
    {O::kBfe, EmitBfe},
    {O::kBfi, EmitBfi},
    {O::kBmsk, EmitBmsk},
    {O::kSzext, EmitSzext},
    {O::kPrmt, EmitPrmt},
    {O::kFns, EmitFns},
    {O::kCvt, EmitCvt},
    {O::kMov, EmitMov},
    {O::kCvta, EmitCvta},
    {O::kIsspacep, EmitIsspacep},
    {O::kMapa, EmitMapa},
    {O::kGetctarank, EmitGetctarank},
    {O::kLd, EmitLd, G::kBranch},
    {O::kLdu, EmitLd, G::kBranch},
    {O::kSt, EmitSt, G::kBranch},
    {O::kPrefetch, EmitNothing},
    {O::kPrefetchu, EmitNothing},
    {O::kDiscard, EmitNothing},
    {O::kApplypriority, EmitNothing},
    {O::kCreatepolicy, EmitCreatepolicy},
    {O::kGriddepcontrol, EmitNothing},
    {O::kSetmaxnreg, EmitNothing},
    {O::kPmevent, EmitNothing},
    {O::kAtom, EmitAtom, G::kBranch},
    {O::kRed, EmitAtom, G::kBranch},
    {O::kTex, EmitTex, G::kBranch},
    {O::kTld4, EmitTld4, G::kBranch},
    {O::kSuld, EmitSuld, G::kBranch},
    {O::kSust, EmitSust, G::kBranch},
    {O::kMultimem, EmitMultimem, G::kBranch},
    {O::kSured, EmitSured, G::kBranch},
    {O::kTxq, EmitTextureQuery, G::kBranch},
    {O::kSuq, EmitTextureQuery, G::kBranch},
    {O::kCp, EmitCp, G::kBranch},
    {O::kMbarrier, EmitMbarrier, G::kBranch},
    {O::kClusterlaunchcontrol, EmitClusterLaunchControl, G::kBranch},
    {O::kBra, EmitBra, G::kControl},
    {O::kBrx, EmitBrx, G::kBranch},
    {O::kRet, EmitRet, G::kBranch},
    {O::kExit, EmitExit, G::kBranch},
    {O::kTrap, EmitTrap, G::kBranch},
    {O::kBrkpt, EmitTrap, G::kBranch},
    {O::kCall, EmitCall, G::kBranch},
    {O::kAlloca, EmitAlloca, G::kBranch},
    {O::kStacksave, EmitStackSave, G::kBranch},
    {O::kStackrestore, EmitStackRestore, G::kBranch},
    {O::kBar, EmitBarrier, G::kBranch},
    {O::kBarrier, EmitBarrier, G::kBranch},
    {O::kMembar, EmitFence, G::kBranch},
    {O::kFence, EmitFence, G::kBranch},
    {O::kNanosleep, EmitNanosleep, G::kBranch},
    {O::kShfl, EmitShfl, G::kBranch},
    {O::kVote, EmitVote, G::kBranch},
    {O::kMatch, EmitMatch, G::kBranch},
    {O::kRedux, EmitRedux, G::kBranch},
    {O::kActivemask, EmitActivemask, G::kBranch},
    {O::kElect, EmitElect, G::kBranch},
    {O::kWmma, EmitWmma, G::kBranch},
    {O::kMma, EmitMma, G::kBranch},
    {O::kWgmma, EmitWgmma, G::kBranch},
    {O::kTensormap, EmitTensormap, G::kBranch},
    {O::kLdmatrix, EmitLdmatrix, G::kBranch},
    {O::kStmatrix, EmitLdmatrix, G::kBranch},
    {O::kMovmatrix, EmitMovmatrix, G::kBranch},
};

constexpr auto kTable = [] {
  std::array<Family, 256> table;
  for (const Row& row : kRows) table[static_cast<size_t>(row.opcode)] = {row.emit, row.guarding};
  return table;
}();

}  // namespace

const Family* FamilyOf(ptx::Opcode opcode) {
  const Family& family = kTable[static_cast<size_t>(opcode)];
  return family.emit == nullptr ? nullptr : &family;
}

}  // namespace tutti::compiler::lowering
