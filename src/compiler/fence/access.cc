#include "compiler/fence/access.h"

#include <algorithm>
#include <bit>

#include "compiler/fence/launch_gate.h"
#include "fmt/format.h"
#include "ptx/modifier_use.h"

namespace tutti::compiler::fencing {
namespace {

using M = ptx::Modifier;
using O = ptx::Opcode;
using ptx::OperandKind;

constexpr uint32_t kMostAlignLog2 = 5;
constexpr uint64_t kRowAlignBits = 128;  // of matrices

// Instructions that access no memory, or none at an address that the program computes.
constexpr O kHarmless[] = {
    O::kAbs,
    O::kActivemask,
    O::kAdd,
    O::kAddc,
    O::kAnd,
    O::kBar,
    O::kBarrier,
    O::kBfe,
    O::kBfi,
    O::kBfind,
    O::kBmsk,
    O::kBra,
    O::kBrev,
    O::kClz,
    O::kCnot,
    O::kCopysign,
    O::kCos,
    O::kCvt,
    O::kCvta,
    O::kDiv,
    O::kDp2a,
    O::kDp4a,
    O::kElect,
    O::kEx2,
    O::kExit,
    O::kFence,
    O::kFma,
    O::kFns,
    O::kIsspacep,
    O::kLg2,
    O::kLop3,
    O::kMad,
    O::kMad24,
    O::kMadc,
    O::kMatch,
    O::kMax,
    O::kMembar,
    O::kMin,
    O::kMma,
    O::kMov,
    O::kMovmatrix,
    O::kMul,
    O::kMul24,
    O::kNanosleep,
    O::kNeg,
    O::kNot,
    O::kOr,
    O::kPmevent,
    O::kPopc,
    O::kPrmt,
    O::kRcp,
    O::kRedux,
    O::kRem,
    O::kRet,
    O::kRsqrt,
    O::kSad,
    O::kSelp,
    O::kSet,
    O::kSetp,
    O::kShf,
    O::kShfl,
    O::kShl,
    O::kShr,
    O::kSin,
    O::kSlct,
    O::kSqrt,
    O::kSub,
    O::kSubc,
    O::kSzext,
    O::kTanh,
    O::kTestp,
    O::kVabsdiff,
    O::kVabsdiff2,
    O::kVabsdiff4,
    O::kVadd,
    O::kVadd2,
    O::kVadd4,
    O::kVavrg2,
    O::kVavrg4,
    O::kVmad,
    O::kVmax,
    O::kVmax2,
    O::kVmax4,
    O::kVmin,
    O::kVmin2,
    O::kVmin4,
    O::kVote,
    O::kVset,
    O::kVset2,
    O::kVset4,
    O::kVshl,
    O::kVshr,
    O::kVsub,
    O::kVsub2,
    O::kVsub4,
    O::kXor,
    O::kGriddepcontrol,
    O::kGetctarank,
};

// Left out: what hardware does with such an address that is wild, or with the policy of a cache that is none, nobody
// says.
constexpr O kHints[] = {O::kPrefetch, O::kPrefetchu, O::kApplypriority, O::kDiscard};

// Modifiers of accesses that change neither which bytes are touched nor whose they are.
constexpr M kSameBytes[] = {
    M::kWeak,
    M::kVolatile,
    M::kRelaxed,
    M::kAcquire,
    M::kRelease,
    M::kAcqRel,
    M::kSc,
    M::kMmio,
    M::kCta,
    M::kGpu,
    M::kSys,
    M::kCluster,
    M::kUnified,
    M::kNc,
    M::kCv,
    M::kNoftz,
    M::kL2,
    // Atomic operations.
    M::kAnd,
    M::kOr,
    M::kXor,
    M::kAdd,
    M::kInc,
    M::kDec,
    M::kMin,
    M::kMax,
    M::kExch,
    M::kCas,
    // Copies.
    M::kAsync,
    M::kBulk,
    M::kBulkGroup,
    M::kArrive,
    M::kNoinc,
    M::kRead,
    M::kMbarrierCompleteTxBytes,
    M::kReduce,
    M::kCpMask,
    // Barriers in memory.
    M::kInit,
    M::kInval,
    M::kArriveDrop,
    M::kExpectTx,
    M::kCompleteTx,
    M::kTestWait,
    M::kTryWait,
    M::kPendingCount,
    M::kNoComplete,
    M::kParity,
    // Requests to cancel a cluster.
    M::kTryCancel,
    M::kQueryCancel,
    M::kIsCanceled,
    M::kGetFirstCtaid,
    M::kGetFirstCtaidX,
    M::kGetFirstCtaidY,
    M::kGetFirstCtaidZ,
    // Matrices, whose extents are checked.
    M::kSync,
    M::kRow,
    M::kCol,
    M::kTrans,
    M::kX1,
    M::kX2,
    M::kX4,
    M::kM8n8,
    M::kM8n16,
    M::kA,
    M::kB,
    M::kC,
    M::kD,
    M::kMma,
    M::kSatfinite,
    M::kPopc,
    M::kM8n8k32,
    M::kM8n8k128,
    M::kM8n8k4,
    M::kM16n16k16,
    M::kM32n8k16,
    M::kM8n32k16,
    M::kM16n16k8,
};

template <typename List, typename T>
bool Holds(const List& list, T value) {
  return std::ranges::find(list, value) != std::ranges::end(list);
}

class Finder {
 public:
  Finder(const ptx::Module& module, const ptx::Function& function, const ptx::Instruction& instruction)
      : module_(module), function_(function), instruction_(instruction), modifiers_(instruction) {}

  Accesses Find() {
    if (instruction_.opcode == O::kFence && NextAddress(0) != kNone) {
      Refuse("a fence of a tensor map cannot be fenced");
      return std::move(found_);
    }
    if (Holds(kHarmless, instruction_.opcode)) return {};
    const bool fetches_ahead = instruction_.opcode == O::kCp && Has(M::kPrefetch) && !Has(M::kTensor);
    if (Holds(kHints, instruction_.opcode) || fetches_ahead) return {.list = {}, .refusal = {}, .is_hint = true};
    FindAccesses();
    const auto unknown =
        modifiers_.FirstUnseen([](M modifier) { return ptx::IsHint(modifier) || Holds(kSameBytes, modifier); });
    if (found_.refusal.empty() && unknown) {
      Refuse(fmt::format("{} with .{} cannot be fenced", NameOf(instruction_.opcode), NameOf(*unknown)));
    }
    return std::move(found_);
  }

 private:
  static constexpr uint32_t kNone = ~0u;

  // Unknown instructions are refused, so that one of a later ISA cannot bypass the fence.
  void FindAccesses() {
    switch (instruction_.opcode) {
      case O::kLd:
      case O::kLdu: return Plain(false);
      case O::kSt:
      case O::kAtom:
      case O::kRed:
        if (Has(M::kAsync)) Refuse("asynchronous stores to other blocks cannot be fenced");
        if (instruction_.opcode == O::kSt && Has(M::kBulk)) return StoreBulk();
        return Plain(true);
      case O::kCp: return Copy();
      case O::kLdmatrix: return Rows(false);
      case O::kStmatrix: return Rows(true);
      case O::kWmma: return Wmma();
      case O::kMbarrier:
        for (uint32_t i = NextAddress(0); i != kNone; i = NextAddress(i + 1)) AddShared(i, 8, 3, true);
        return;
      case O::kClusterlaunchcontrol:
        if (Has(M::kQueryCancel)) return;
        AddShared(0, 16, 4, true);
        return AddShared(1, 8, 3, true);
      case O::kTex:
      case O::kTld4:
      case O::kTxq:
      case O::kSuld:
      case O::kSust:
      case O::kSured:
      case O::kSuq: return Refuse("textures and surfaces cannot be fenced");
      case O::kMapa: return Refuse("shared memory of other blocks cannot be fenced");
      default: return Refuse(fmt::format("{} cannot be fenced", NameOf(instruction_.opcode)));
    }
  }

  bool Has(M modifier) const { return modifiers_.Has(modifier); }
  void Refuse(std::string why) { found_.refusal = std::move(why); }

  uint32_t NextAddress(uint32_t from) const {
    for (uint32_t i = from; i < instruction_.operands.size(); ++i) {
      if (instruction_.operands[i].kind == OperandKind::kAddress) return i;
    }
    return kNone;
  }

  void Add(uint32_t operand, ptx::StateSpace space, uint64_t bytes, uint32_t align_log2, bool writes,
           uint32_t counted_by = kNone, uint64_t factor = 0, uint32_t count_align_log2 = 0, uint32_t shift = 0) {
    if (operand == kNone) return;
    Region region;
    switch (space) {
      case ptx::StateSpace::kGlobal: region = Region::kGlobal; break;
      case ptx::StateSpace::kShared:
      case ptx::StateSpace::kSharedCluster: region = Region::kShared; break;
      case ptx::StateSpace::kLocal: region = Region::kLocal; break;
      case ptx::StateSpace::kConst: region = Region::kConst; break;
      case ptx::StateSpace::kParam: region = Region::kParam; break;
      case ptx::StateSpace::kGeneric: region = Region::kGeneric; break;
      default: return Refuse("a parameter is addressed in a way that cannot be fenced");
    }
    found_.list.push_back({.operand = operand,
                           .region = region,
                           .bytes = bytes,
                           .align_log2 = std::min(align_log2, kMostAlignLog2),
                           .writes = writes,
                           .counted_by = counted_by,
                           .factor = factor,
                           .shift = shift,
                           .count_align_log2 = count_align_log2});
  }

  // Of an instruction that takes the low half of a generic address for one of shared memory, whatever it is.
  void AddShared(uint32_t operand, uint64_t bytes, uint32_t align_log2, bool writes) {
    if (operand == kNone) return;
    const ptx::Operand& address = instruction_.operands[operand];
    const ptx::StateSpace variable = SpaceOf(address);
    const bool is_shared = variable == ptx::StateSpace::kGeneric ? instruction_.space != ptx::StateSpace::kGeneric
                                                                 : variable == ptx::StateSpace::kShared;
    if (!is_shared) return Refuse(fmt::format("{} at a generic address cannot be fenced", NameOf(instruction_.opcode)));
    Add(operand, ptx::StateSpace::kShared, bytes, align_log2, writes);
  }

  // Of matrices of eight rows, each at an address of a lane.
  void Rows(bool writes) {
    AddShared(NextAddress(0), 16, 4, writes);
    const uint32_t lanes = Has(M::kX1) ? 8 : Has(M::kX2) ? 16 : 32;
    for (Access& access : found_.list) access.lanes = lanes;
  }

  // Of the variable that the address names; generic: of none.
  ptx::StateSpace SpaceOf(const ptx::Operand& address) const {
    if (address.base == ptx::BaseKind::kLocal) return function_.locals[address.index].space;
    if (address.base != ptx::BaseKind::kSymbol) return ptx::StateSpace::kGeneric;
    const ptx::Symbol& symbol = module_.symbols[address.index];
    return symbol.kind == ptx::Symbol::Kind::kVariable ? module_.variables[symbol.index].space
                                                       : ptx::StateSpace::kGeneric;
  }

  // A parameter of a call, or what one returns: registers, of which nobody has the address.
  bool NamesOwnLocal() const {
    return std::ranges::any_of(instruction_.operands, [&](const ptx::Operand& operand) {
      return operand.kind == OperandKind::kAddress && operand.base == ptx::BaseKind::kLocal &&
             operand.index >= function_.first_param + function_.prototype.params.size();
    });
  }

  void Plain(bool writes) {
    if (instruction_.space == ptx::StateSpace::kParam) {
      if (IsWithinParameter(function_, instruction_)) return;
      if (writes || !function_.is_entry || OwnParameters(function_) == 0 || NamesOwnLocal())
        return Refuse("a parameter is addressed in a way that cannot be fenced");
    }
    const uint64_t bytes = (BitsOf(instruction_.type()) + 7) / 8 * instruction_.vector;
    Add(NextAddress(0), instruction_.space, bytes, static_cast<uint32_t>(std::bit_width(bytes) - 1), writes);
  }

  // cp.async [shared], [global], size{, source size}; cp.async.bulk [to], [from], size{, [mbarrier]}.
  void Copy() {
    if (Has(M::kTensor)) return Refuse("copies by tensor maps cannot be fenced");
    if (Has(M::kCommitGroup) || Has(M::kWaitGroup) || Has(M::kWaitAll)) return;
    const uint32_t to = NextAddress(0);
    if (Has(M::kMbarrier)) return Add(to, ptx::StateSpace::kShared, 8, 3, true);
    const uint32_t from = to == kNone ? kNone : NextAddress(to + 1);
    if (from == kNone || from + 1 >= instruction_.operands.size()) return Refuse("the copy cannot be fenced");
    const ptx::Operand& size = instruction_.operands[from + 1];
    if (size.kind == OperandKind::kImmediate) {
      const auto align = static_cast<uint32_t>(std::bit_width(size.bits & 0xff) - (size.bits != 0 ? 1 : 0));
      Add(to, instruction_.space, size.bits, Has(M::kBulk) ? 4 : align, true);
      Add(from, instruction_.second_space, size.bits, Has(M::kBulk) ? 4 : align, false);
    } else {
      Add(to, instruction_.space, 0, 4, true, from + 1, 1, 4);
      Add(from, instruction_.second_space, 0, 4, false, from + 1, 1, 4);
    }
    Add(NextAddress(from + 1), ptx::StateSpace::kShared, 8, 3, true);
  }

  // st.bulk [shared], size, 0
  void StoreBulk() {
    if (instruction_.space != ptx::StateSpace::kShared)
      return Refuse("a store in bulk at a generic address cannot be fenced");
    Add(0, instruction_.space, 0, 3, true, 1, 1, 3);
  }

  // A matrix in memory: rows (or columns) of `minor` elements, `stride` apart.
  void Wmma() {
    if (!Has(M::kLoad) && !Has(M::kStore)) return;
    struct Extents {
      M shape;
      uint32_t m, n, k;
    };
    constexpr Extents kExtents[] = {{M::kM16n16k16, 16, 16, 16}, {M::kM32n8k16, 32, 8, 16}, {M::kM8n32k16, 8, 32, 16},
                                    {M::kM16n16k8, 16, 16, 8},   {M::kM8n8k4, 8, 8, 4},     {M::kM8n8k32, 8, 8, 32},
                                    {M::kM8n8k128, 8, 8, 128}};
    for (const Extents& e : kExtents) {
      if (!Has(e.shape)) continue;
      const uint32_t rows = Has(M::kB) ? e.k : e.m, columns = Has(M::kA) ? e.k : e.n;
      const uint32_t major = Has(M::kCol) ? columns : rows, minor = Has(M::kCol) ? rows : columns;
      const uint64_t bits = BitsOf(instruction_.types.back());
      const uint32_t address = NextAddress(0);
      const uint32_t stride = Has(M::kLoad) ? address + 1 : address + 2;
      const bool given = stride < instruction_.operands.size();
      const uint64_t last = (major - 1) * bits;  // for each element of a stride, which are whole bytes together
      const uint64_t row = (minor * bits + 7) / 8;
      // Rows begin at multiples of 16 bytes.
      const auto step = static_cast<uint32_t>(std::bit_width(kRowAlignBits / bits) - 1);
      Add(address, instruction_.space, given ? row : row + last * minor / 8, 4, Has(M::kStore), given ? stride : kNone,
          bits < 8 ? last : last / 8, given ? step : 0, bits < 8 ? 3 : 0);
      return;
    }
    Refuse("matrices of this shape cannot be fenced");
  }

  const ptx::Module& module_;
  const ptx::Function& function_;
  const ptx::Instruction& instruction_;
  const ptx::ModifierUse modifiers_;
  Accesses found_;
};

}  // namespace

Accesses AccessesOf(const ptx::Module& module, const ptx::Function& function, const ptx::Instruction& instruction) {
  return Finder(module, function, instruction).Find();
}

bool IsWithinParameter(const ptx::Function& function, const ptx::Instruction& instruction) {
  for (const ptx::Operand& operand : instruction.operands) {
    if (operand.kind != OperandKind::kAddress) continue;
    if (operand.base != ptx::BaseKind::kLocal) return false;
    const ptx::LocalVariable& local = function.locals[operand.index];
    const uint64_t bytes = (BitsOf(instruction.type()) + 7) / 8 * instruction.vector, size = local.bytes();
    const auto at = static_cast<uint64_t>(operand.offset);
    return local.space == ptx::StateSpace::kParam && operand.offset >= 0 && bytes <= size && at <= size - bytes &&
           bytes != 0 && at % bytes == 0 && local.alignment >= bytes;
  }
  return false;
}

}  // namespace tutti::compiler::fencing
