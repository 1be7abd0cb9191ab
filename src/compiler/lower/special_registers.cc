#include "compiler/lower/special_registers.h"

#include <optional>

#include "compiler/contract/intrinsics.h"
#include "guest/device_runtime.h"

namespace tutti::compiler::lowering {
namespace {

using S = ptx::SpecialRegister;

// Registers that are one pure i32 function of the contract.
std::optional<IntrinsicName> PureFunctionOf(S special) {
  static constexpr struct {
    S special;
    IntrinsicName function;
  } kRows[] = {
      {S::kTidX, "tutti.tid.x"},
      {S::kTidY, "tutti.tid.y"},
      {S::kTidZ, "tutti.tid.z"},
      {S::kCtaidX, "tutti.ctaid.x"},
      {S::kCtaidY, "tutti.ctaid.y"},
      {S::kCtaidZ, "tutti.ctaid.z"},
      {S::kNctaidX, "tutti.nctaid.x"},
      {S::kNctaidY, "tutti.nctaid.y"},
      {S::kNctaidZ, "tutti.nctaid.z"},
      {S::kLaneid, "tutti.laneid"},
      {S::kWarpid, "tutti.warpid"},
      {S::kNwarpid, "tutti.nwarpid"},
      {S::kSmid, "tutti.smid"},
      {S::kNsmid, "tutti.nsmid"},
      {S::kDynamicSmemSize, "tutti.dynamic_shared_bytes"},
      {S::kClusterCtaidX, "tutti.cluster_ctaid.x"},
      {S::kClusterCtaidY, "tutti.cluster_ctaid.y"},
      {S::kClusterCtaidZ, "tutti.cluster_ctaid.z"},
      {S::kClusterNctaidX, "tutti.cluster_nctaid.x"},
      {S::kClusterNctaidY, "tutti.cluster_nctaid.y"},
      {S::kClusterNctaidZ, "tutti.cluster_nctaid.z"},
      {S::kTotalSmemSize, "tutti.shared_bytes"},
      {S::kAggrSmemSize, "tutti.shared_bytes"},  // nothing is reserved besides
  };
  for (const auto& row : kRows) {
    if (row.special == special) return row.function;
  }
  return std::nullopt;
}

// The block's size, where it is known a constant.
llvm::Value* BlockSize(Emitter& e, uint32_t dimension) {
  const uint32_t known = e.module().options().block[dimension];
  if (known != 0) return e.ir.getInt32(known);
  static constexpr IntrinsicName kNames[] = {"tutti.ntid.x", "tutti.ntid.y", "tutti.ntid.z"};
  return e.CallI32(kNames[dimension]);
}

// How many clusters along a dimension (`round_up`), or which of them this block is in.
llvm::Value* ClusterIndex(Emitter& e, S block, S size, bool round_up) {
  llvm::Value* blocks = ReadSpecialRegister(e, block);
  llvm::Value* width = ReadSpecialRegister(e, size);
  llvm::Value* divisor = e.Intrinsic(llvm::Intrinsic::umax, {width, e.ir.getInt32(1)});
  if (round_up) blocks = e.ir.CreateAdd(blocks, e.ir.CreateSub(divisor, e.ir.getInt32(1)));
  return e.ir.CreateUDiv(blocks, divisor);
}

// x + size.x * (y + size.y * z)
llvm::Value* ClusterRank(Emitter& e) {
  llvm::Value* rank = e.CallI32("tutti.cluster_ctaid.z");
  rank = e.ir.CreateMul(rank, e.CallI32("tutti.cluster_nctaid.y"));
  rank = e.ir.CreateAdd(rank, e.CallI32("tutti.cluster_ctaid.y"));
  rank = e.ir.CreateMul(rank, e.CallI32("tutti.cluster_nctaid.x"));
  return e.ir.CreateAdd(rank, e.CallI32("tutti.cluster_ctaid.x"));
}

llvm::Value* ClusterSize(Emitter& e) {
  llvm::Value* plane = e.ir.CreateMul(e.CallI32("tutti.cluster_nctaid.x"), e.CallI32("tutti.cluster_nctaid.y"));
  return e.ir.CreateMul(plane, e.CallI32("tutti.cluster_nctaid.z"));
}

llvm::Value* Clock(Emitter& e, IntrinsicName name) { return e.Call(name, e.ir.getInt64Ty(), {}, Effect::kClock); }
llvm::Value* Low(Emitter& e, llvm::Value* wide) { return e.ir.CreateTrunc(wide, e.ir.getInt32Ty()); }
llvm::Value* High(Emitter& e, llvm::Value* wide) { return Low(e, e.ir.CreateLShr(wide, 32)); }

llvm::Value* LaneMask(Emitter& e, S special) {
  llvm::Value* bit = e.ir.CreateShl(e.ir.getInt32(1), e.CallI32("tutti.laneid"));
  llvm::Value* below = e.ir.CreateSub(bit, e.ir.getInt32(1));
  switch (special) {
    case S::kLanemaskEq: return bit;
    case S::kLanemaskLt: return below;
    case S::kLanemaskLe: return e.ir.CreateOr(below, bit);
    case S::kLanemaskGe: return e.ir.CreateNot(below);
    default: return e.ir.CreateNot(e.ir.CreateOr(below, bit));
  }
}

llvm::Value* CurrentGraph(Emitter& e) {
  const auto function = static_cast<uint32_t>(guest::RuntimeFunction::kCurrentGraph);
  llvm::Value* words = e.ir.CreatePtrToInt(e.RuntimeWords(), e.ir.getInt64Ty());
  return e.Call("tutti.device_runtime", e.ir.getInt64Ty(), {e.ir.getInt32(function), words}, Effect::kMemory);
}

}  // namespace

llvm::Value* ReadSpecialRegister(Emitter& e, S special) {
  if (const auto name = PureFunctionOf(special)) return e.CallI32(*name);
  switch (special) {
    case S::kNtidX: return BlockSize(e, 0);
    case S::kNtidY: return BlockSize(e, 1);
    case S::kNtidZ: return BlockSize(e, 2);
    case S::kGridid: return e.CallI64("tutti.gridid");
    case S::kLanemaskEq:
    case S::kLanemaskLe:
    case S::kLanemaskLt:
    case S::kLanemaskGe:
    case S::kLanemaskGt: return LaneMask(e, special);
    case S::kClock: return Low(e, Clock(e, "tutti.clock"));
    case S::kClockHi: return High(e, Clock(e, "tutti.clock"));
    case S::kClock64: return Clock(e, "tutti.clock");
    case S::kGlobaltimer: return Clock(e, "tutti.globaltimer");
    case S::kGlobaltimerLo: return Low(e, Clock(e, "tutti.globaltimer"));
    case S::kGlobaltimerHi: return High(e, Clock(e, "tutti.globaltimer"));
    // Cooperative groups read their workspace's address from here, the high half first.
    case S::kEnvreg1: return High(e, e.CallI64("tutti.cooperative_workspace"));
    case S::kEnvreg2: return Low(e, e.CallI64("tutti.cooperative_workspace"));
    case S::kClusteridX: return ClusterIndex(e, S::kCtaidX, S::kClusterNctaidX, false);
    case S::kClusteridY: return ClusterIndex(e, S::kCtaidY, S::kClusterNctaidY, false);
    case S::kClusteridZ: return ClusterIndex(e, S::kCtaidZ, S::kClusterNctaidZ, false);
    case S::kNclusteridX: return ClusterIndex(e, S::kNctaidX, S::kClusterNctaidX, true);
    case S::kNclusteridY: return ClusterIndex(e, S::kNctaidY, S::kClusterNctaidY, true);
    case S::kNclusteridZ: return ClusterIndex(e, S::kNctaidZ, S::kClusterNctaidZ, true);
    case S::kClusterCtarank: return ClusterRank(e);
    case S::kClusterNctarank: return ClusterSize(e);
    case S::kIsExplicitCluster: return e.CallI32("tutti.explicit_cluster");
    case S::kCurrentGraphExec: return CurrentGraph(e);
    case S::kWarpSz: return e.ir.getInt32(32);
    default: return e.ir.getInt32(0);
  }
}

}  // namespace tutti::compiler::lowering
