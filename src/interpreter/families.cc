#include "interpreter/families.h"

namespace tutti::interpreter {

// Rows of opcode.def that are not here read what a host binds (textures, surfaces), or belong to later tensor cores
// (tcgen05).
Family FamilyOf(const ptx::Instruction& instruction) {
  using ptx::Opcode;
  switch (instruction.opcode) {
    case Opcode::kAdd:
    case Opcode::kSub: return {.alone = AddSubtract};
    case Opcode::kMul: return {.alone = Multiply};
    case Opcode::kMad: return {.alone = MultiplyAdd};
    case Opcode::kFma: return {.alone = FloatMultiplyAdd};
    case Opcode::kDiv:
    case Opcode::kRem: return {.alone = Divide};
    case Opcode::kAbs:
    case Opcode::kNeg: return {.alone = AbsoluteOrNegative};
    case Opcode::kMin:
    case Opcode::kMax: return {.alone = MinMax};
    case Opcode::kSad: return {.alone = SumOfDifferences};
    case Opcode::kMul24:
    case Opcode::kMad24: return {.alone = Multiply24};
    case Opcode::kAddc:
    case Opcode::kSubc: return {.alone = AddWithCarry};
    case Opcode::kMadc: return {.alone = MultiplyAddWithCarry};
    case Opcode::kPopc:
    case Opcode::kClz: return {.alone = CountBits};
    case Opcode::kBrev: return {.alone = ReverseBits};
    case Opcode::kBfind: return {.alone = FindBit};
    case Opcode::kBfe: return {.alone = ExtractField};
    case Opcode::kBfi: return {.alone = InsertField};
    case Opcode::kBmsk: return {.alone = MakeMask};
    case Opcode::kSzext: return {.alone = ExtendSign};
    case Opcode::kFns: return {.alone = FindNthSet};
    case Opcode::kPrmt: return {.alone = Permute};
    case Opcode::kDp2a:
    case Opcode::kDp4a: return {.alone = DotProduct};
    case Opcode::kSqrt:
    case Opcode::kRcp: return {.alone = FloatRoot};
    case Opcode::kCopysign: return {.alone = CopySign};
    case Opcode::kTestp: return {.alone = TestProperty};
    case Opcode::kRsqrt:
    case Opcode::kSin:
    case Opcode::kCos:
    case Opcode::kEx2:
    case Opcode::kLg2:
    case Opcode::kTanh: return {.alone = Approximate};
    case Opcode::kCvt: return {.alone = Convert};
    case Opcode::kSetp: return {.alone = Compare};
    case Opcode::kSet: return {.alone = SetValue};
    case Opcode::kSelp: return {.alone = Select};
    case Opcode::kSlct: return {.alone = SelectBySign};
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
    case Opcode::kNot:
    case Opcode::kCnot: return {.alone = Logic};
    case Opcode::kLop3: return {.alone = Lookup3};
    case Opcode::kShl:
    case Opcode::kShr: return {.alone = Shift};
    case Opcode::kShf: return {.alone = FunnelShift};
    case Opcode::kMov: return {.alone = Move};
    case Opcode::kCvta: return {.alone = ConvertAddress};
    case Opcode::kIsspacep: return {.alone = IsInSpace};
    case Opcode::kMapa: return {.alone = MapToBlock};
    case Opcode::kGetctarank: return {.alone = RankOfBlock};
    case Opcode::kCreatepolicy: return {.alone = MakePolicy};
    case Opcode::kLd:
    case Opcode::kLdu: return {.alone = Load};
    case Opcode::kSt: return {.alone = Store};
    case Opcode::kAtom:
    case Opcode::kRed: return {.alone = Atomic};
    case Opcode::kBra: return {.alone = Branch};
    case Opcode::kBrx: return {.alone = BranchIndexed};
    case Opcode::kCall: return {.alone = Call};
    case Opcode::kRet: return {.alone = Return};
    case Opcode::kExit: return {.alone = Exit};
    case Opcode::kTrap:
    case Opcode::kBrkpt: return {.alone = Trap};
    case Opcode::kMultimem: return {.alone = Multimem};
    case Opcode::kAlloca:
    case Opcode::kStacksave:
    case Opcode::kStackrestore: return {.alone = Stack};
    case Opcode::kMembar:
    case Opcode::kFence:
    case Opcode::kNanosleep:
    case Opcode::kPmevent:
    case Opcode::kPrefetch:
    case Opcode::kPrefetchu:
    case Opcode::kDiscard:
    case Opcode::kApplypriority:
    case Opcode::kSetmaxnreg:
    case Opcode::kGriddepcontrol: return {.alone = Nothing};
    case Opcode::kActivemask: return {.together = ActiveMask};
    case Opcode::kShfl: return {.together = Shuffle};
    case Opcode::kVote: return {.together = Vote};
    case Opcode::kMatch: return {.together = Match};
    case Opcode::kRedux: return {.together = Reduce};
    case Opcode::kElect: return {.together = Elect};
    case Opcode::kBar:
    case Opcode::kBarrier:
      if (instruction.Has(Modifier::kWarp)) return {.together = MeetOnly};
      return {.alone = ArriveAtBarrier};
    case Opcode::kCp: return {.alone = CopyAsync};
    case Opcode::kMbarrier: return {.alone = PhaseBarrier};
    case Opcode::kClusterlaunchcontrol: return {.alone = ClusterLaunch};
    case Opcode::kVadd:
    case Opcode::kVsub:
    case Opcode::kVabsdiff:
    case Opcode::kVmin:
    case Opcode::kVmax:
    case Opcode::kVshl:
    case Opcode::kVshr:
    case Opcode::kVset: return {.alone = Video};
    case Opcode::kVmad: return {.alone = VideoMultiplyAdd};
    case Opcode::kVadd2:
    case Opcode::kVadd4:
    case Opcode::kVsub2:
    case Opcode::kVsub4:
    case Opcode::kVavrg2:
    case Opcode::kVavrg4:
    case Opcode::kVabsdiff2:
    case Opcode::kVabsdiff4:
    case Opcode::kVmin2:
    case Opcode::kVmin4:
    case Opcode::kVmax2:
    case Opcode::kVmax4:
    case Opcode::kVset2:
    case Opcode::kVset4: return {.alone = VideoPacked};
    case Opcode::kMma: return {.together = MatrixMultiply};
    case Opcode::kWmma: return {.together = MatrixFragments};
    case Opcode::kWgmma:
      if (instruction.Has(Modifier::kMmaAsync)) return {.together = WarpGroupMultiply};
      return {.alone = WarpGroupWait};
    case Opcode::kTensormap: return {.alone = ChangeTensorMap};
    case Opcode::kLdmatrix: return {.together = MatrixLoad};
    case Opcode::kStmatrix: return {.together = MatrixStore};
    case Opcode::kMovmatrix: return {.together = MatrixTranspose};
    default: return {};
  }
}

}  // namespace tutti::interpreter
