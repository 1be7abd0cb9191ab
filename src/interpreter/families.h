// The families of instructions: each row of opcode.def is executed by one of these functions, or refused.
#pragma once

#include "interpreter/step.h"
#include "ptx/opcode.h"

namespace tutti::interpreter {

// One thread by itself.
using Execute = void (*)(Step&);
// All members of a warp operation, once they have met.
using ExecuteTogether = void (*)(Meeting&);

struct Family {
  Execute alone = nullptr;
  ExecuteTogether together = nullptr;
};
// Both null: not interpreted.
Family FamilyOf(const ptx::Instruction& instruction);
// The member mask of a warp operation, from the thread's operands. activemask waits for nobody.
inline constexpr uint32_t kWhoeverIsHere = 0;
uint32_t MembersOf(Step& step);

void AddSubtract(Step&);       // integer.cc
void Multiply(Step&);
void MultiplyAdd(Step&);
void Divide(Step&);
void AbsoluteOrNegative(Step&);
void MinMax(Step&);
void SumOfDifferences(Step&);
void Multiply24(Step&);
void AddWithCarry(Step&);      // carry.cc
void MultiplyAddWithCarry(Step&);
void CountBits(Step&);         // bits.cc
void ReverseBits(Step&);
void FindBit(Step&);
void ExtractField(Step&);
void InsertField(Step&);
void MakeMask(Step&);
void ExtendSign(Step&);
void FindNthSet(Step&);
void Permute(Step&);
void DotProduct(Step&);
void FloatAddSubtract(Step&);  // float.cc
void FloatMultiply(Step&);
void FloatMultiplyAdd(Step&);
void FloatDivide(Step&);
void FloatRoot(Step&);
void FloatSign(Step&);         // float_sign.cc
void FloatMinMax(Step&);
void CopySign(Step&);
void TestProperty(Step&);
void Approximate(Step&);       // approximate.cc
void Convert(Step&);           // convert.cc
void ConvertPacked(Step&);     // convert_packed.cc
void ConvertStochastically(Step&);  // convert_stochastic.cc
void Compare(Step&);           // compare.cc
void SetValue(Step&);
void Select(Step&);
void SelectBySign(Step&);
void Logic(Step&);             // logic.cc
void Lookup3(Step&);
void Shift(Step&);
void FunnelShift(Step&);
void Move(Step&);              // move.cc
void ConvertAddress(Step&);
void IsInSpace(Step&);
void MapToBlock(Step&);
void RankOfBlock(Step&);
void MakePolicy(Step&);
void Load(Step&);              // load_store.cc
void Store(Step&);
void Atomic(Step&);            // atomic.cc
// By the operation that the instruction names: .add, .min, .and, ...
uint64_t UpdatedBy(Step&, Type type, uint64_t old, uint64_t operand);
void Branch(Step&);            // control.cc
void BranchIndexed(Step&);
void Call(Step&);
void Return(Step&);
void Exit(Step&);
void Trap(Step&);
void Multimem(Step&);
void Stack(Step&);
void Nothing(Step&);
void CallService(Step&, const std::string& name);  // services.cc
void ActiveMask(Meeting&);     // warp.cc
void Shuffle(Meeting&);
void Vote(Meeting&);
void Match(Meeting&);
void Reduce(Meeting&);
void Elect(Meeting&);
void MeetOnly(Meeting&);
void ArriveAtBarrier(Step&);   // barrier.cc
void CopyAsync(Step&);         // async.cc
// `bytes` have arrived that the mbarrier at the address `barrier` waits for.
void CompleteBytes(Step&, const Operand& barrier, uint64_t bytes);
void CompleteBytesAt(Step&, StateSpace space, uint64_t barrier, uint64_t bytes);
void CopyTensor(Step&);        // tensor.cc
void ChangeTensorMap(Step&);
void PhaseBarrier(Step&);
void ClusterLaunch(Step&);
void Video(Step&);             // video.cc
void VideoMultiplyAdd(Step&);
void VideoPacked(Step&);       // video_packed.cc
void MatrixMultiply(Meeting&); // matrix.cc
void MatrixFragments(Meeting&);  // wmma.cc
void WarpGroupMultiply(Meeting&);  // warp_group.cc
void WarpGroupWait(Step&);
void MatrixLoad(Meeting&);     // matrix_move.cc
void MatrixStore(Meeting&);
void MatrixTranspose(Meeting&);

}  // namespace tutti::interpreter
