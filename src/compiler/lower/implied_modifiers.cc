#include "compiler/lower/implied_modifiers.h"

#include <algorithm>
#include <span>

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using O = ptx::Opcode;

struct Row {
  std::span<const O> opcodes;
  std::span<const M> modifiers;
};

// Arithmetic is correctly rounded, to nearest unless the family reads another modifier.
constexpr O kRounded[] = {O::kAdd, O::kSub,  O::kMul, O::kMad,  O::kFma, O::kDiv,
                          O::kRcp, O::kSqrt, O::kCvt, O::kWmma, O::kMma};
constexpr M kNearest[] = {M::kRn};
constexpr O kCoarse[] = {O::kDiv, O::kRcp, O::kSqrt, O::kRsqrt, O::kSin, O::kCos, O::kEx2, O::kLg2, O::kTanh};
constexpr M kMayBeCoarse[] = {M::kApprox, M::kFull};
constexpr O kLowHalves[] = {O::kMul, O::kMad, O::kMadc, O::kMul24, O::kMad24, O::kDp2a};
constexpr M kLow[] = {M::kLo};
constexpr O kLimited[] = {O::kBmsk, O::kSzext};
constexpr M kClamped[] = {M::kClamp};
constexpr O kFunnels[] = {O::kShf};
constexpr M kWrapped[] = {M::kWrap};
constexpr O kAddressConversions[] = {O::kCvta};
constexpr M kDirection[] = {M::kTo};

// One thread executes a warp, with all lanes that are active.
constexpr O kOfWarps[] = {O::kShfl,     O::kVote,     O::kMatch,     O::kRedux, O::kElect,   O::kWmma,  O::kMma,
                          O::kLdmatrix, O::kStmatrix, O::kMovmatrix, O::kBar,   O::kBarrier, O::kWgmma, O::kTensormap};
constexpr M kTogether[] = {M::kSync};
constexpr O kMatches[] = {O::kMatch};
constexpr M kAnyMatch[] = {M::kAny};
constexpr O kMatrices[] = {O::kLdmatrix, O::kStmatrix, O::kMovmatrix};
constexpr M kMatrixForms[] = {M::kM8n8, M::kX1};
constexpr O kIndexedBranches[] = {O::kBrx};
constexpr M kIndexed[] = {M::kIdx};
constexpr O kTransposes[] = {O::kMovmatrix};
constexpr M kTransposed[] = {M::kTrans};
constexpr O kWarpMatrices[] = {O::kWmma};
constexpr M kFragments[] = {M::kRow, M::kCol, M::kC, M::kD, M::kA, M::kB};  // see matrix_layout.h

// Accesses have the strongest scope; locks and fences have the strongest order.
constexpr O kAccesses[] = {O::kLd, O::kLdu, O::kSt, O::kAtom, O::kRed, O::kMbarrier};
constexpr M kAccessForms[] = {M::kWeak, M::kCta, M::kGpu, M::kSys, M::kCluster, M::kMmio, M::kNc, M::kUnified};
constexpr O kUpdates[] = {O::kAtom, O::kRed, O::kMbarrier, O::kBarrier, O::kBar};
constexpr M kUpdateForms[] = {M::kRelaxed, M::kAcquire, M::kRelease, M::kAcqRel, M::kNoftz, M::kNoComplete};
constexpr O kBarriers[] = {O::kBar, O::kBarrier};
constexpr M kBarrierForms[] = {M::kArrive, M::kOr, M::kCta};
constexpr O kFences[] = {O::kMembar, O::kFence};
constexpr M kFenceForms[] = {M::kSc,
                             M::kAcqRel,
                             M::kAcquire,
                             M::kRelease,
                             M::kCta,
                             M::kProxy,
                             M::kAlias,
                             M::kAsync,
                             M::kAsyncGeneric,
                             M::kGeneric,
                             M::kTensormapGeneric,
                             M::kGl,
                             M::kCluster,
                             M::kGpu,
                             M::kMbarrierInit,
                             M::kSyncRestrictSharedCta,
                             M::kSys,
                             M::kSyncRestrictSharedCluster};
// Copies are synchronous, so waiting for some of them is a no-op.
constexpr O kCopies[] = {O::kCp};
constexpr M kCopyForms[] = {M::kArrive, M::kBulk, M::kBulkGroup, M::kRead, M::kCommitGroup, M::kWaitGroup, M::kWaitAll};

// The first level is the default, the red component too, and accesses outside of a surface trap.
constexpr O kTextures[] = {O::kTex, O::kTld4};
constexpr M kTextureForms[] = {M::kBase, M::kR};
constexpr O kSurfaces[] = {O::kSuld, O::kSust, O::kSured};
constexpr M kSurfaceForms[] = {M::kTrap};

// There is nothing that they could reach.
constexpr O kOfSeveralDevices[] = {O::kMultimem};
constexpr M kMultimemForms[] = {M::kLdReduce, M::kSt,      M::kRed, M::kAccF32,  M::kAccF16, M::kWeak, M::kRelaxed,
                                M::kAcquire,  M::kRelease, M::kCta, M::kCluster, M::kGpu,    M::kSys,  M::kAdd,
                                M::kMin,      M::kMax,     M::kAnd, M::kOr,      M::kXor};

// Hints, all of it.
constexpr O kAdvice[] = {O::kPrefetch,     O::kPrefetchu,  O::kDiscard, O::kApplypriority,
                         O::kCreatepolicy, O::kSetmaxnreg, O::kPmevent, O::kGriddepcontrol};
constexpr M kAdviceForms[] = {M::kL1,    M::kL2,   M::kTensormap, M::kFractional,
                              M::kRange, M::kInc,  M::kDec,       M::kLaunchDependents,
                              M::kWait,  M::kSync, M::kCvt,       M::kMask};

constexpr Row kRows[] = {
    {kRounded, kNearest},        {kCoarse, kMayBeCoarse},      {kLowHalves, kLow},
    {kLimited, kClamped},        {kFunnels, kWrapped},         {kAddressConversions, kDirection},
    {kOfWarps, kTogether},       {kMatches, kAnyMatch},        {kMatrices, kMatrixForms},
    {kWarpMatrices, kFragments}, {kAccesses, kAccessForms},    {kUpdates, kUpdateForms},
    {kBarriers, kBarrierForms},  {kFences, kFenceForms},       {kCopies, kCopyForms},
    {kTextures, kTextureForms},  {kSurfaces, kSurfaceForms},   {kAdvice, kAdviceForms},
    {kTransposes, kTransposed},  {kIndexedBranches, kIndexed}, {kOfSeveralDevices, kMultimemForms},
};

template <typename T>
bool Holds(std::span<const T> values, T value) {
  return std::ranges::find(values, value) != values.end();
}

}  // namespace

bool IsImplied(ptx::Opcode opcode, ptx::Modifier modifier) {
  return std::ranges::any_of(
      kRows, [&](const Row& row) { return Holds(row.opcodes, opcode) && Holds(row.modifiers, modifier); });
}

}  // namespace tutti::compiler::lowering
