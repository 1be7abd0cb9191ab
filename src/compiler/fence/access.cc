#include "compiler/fence/access.h"

#include <bit>

namespace tutti::compiler::fencing {
namespace {

using M = ptx::Modifier;
using O = ptx::Opcode;
using ptx::OperandKind;

constexpr uint32_t kMostAlignLog2 = 4;

class Finder {
 public:
  Finder(const ptx::Function& function, const ptx::Instruction& instruction)
      : function_(function), instruction_(instruction) {}

  Accesses Find() {
    switch (instruction_.opcode) {
      case O::kLd:
      case O::kLdu:
        Plain(false);
        break;
      case O::kSt:
      case O::kAtom:
      case O::kRed:
        if (Has(M::kAsync)) Refuse("asynchronous stores to other blocks cannot be fenced");
        Plain(true);
        break;
      case O::kCp:
        Copy();
        break;
      case O::kDiscard:
        Add(0, instruction_.space, 128, 0, true);
        break;
      case O::kLdmatrix:
        Add(NextAddress(0), instruction_.space, 16, 4, false);
        break;
      case O::kStmatrix:
        Add(NextAddress(0), instruction_.space, 16, 4, true);
        break;
      case O::kWmma:
        Wmma();
        break;
      case O::kMbarrier:
        for (uint32_t i = NextAddress(0); i != kNone; i = NextAddress(i + 1)) Add(i, instruction_.space, 8, 3, true);
        break;
      case O::kTex:
      case O::kTld4:
      case O::kTxq:
      case O::kSuld:
      case O::kSust:
      case O::kSured:
      case O::kSuq:
        Refuse("textures and surfaces cannot be fenced");
        break;
      case O::kMapa:
        Refuse("shared memory of other blocks cannot be fenced");
        break;
      case O::kMultimem:
      case O::kTensormap:
      case O::kWgmma:
      case O::kClusterlaunchcontrol:
      case O::kAlloca:
      case O::kStackrestore:
        Refuse("the instruction cannot be fenced");
        break;
      default:
        break;
    }
    return std::move(found_);
  }

 private:
  static constexpr uint32_t kNone = ~0u;

  bool Has(M modifier) const { return instruction_.Has(modifier); }
  void Refuse(std::string why) { found_.refusal = std::move(why); }

  uint32_t NextAddress(uint32_t from) const {
    for (uint32_t i = from; i < instruction_.operands.size(); ++i) {
      if (instruction_.operands[i].kind == OperandKind::kAddress) return i;
    }
    return kNone;
  }

  void Add(uint32_t operand, ptx::Space space, uint64_t bytes, uint32_t align_log2, bool writes,
           uint32_t counted_by = kNone, uint64_t factor = 0) {
    if (operand == kNone) return;
    Region region;
    switch (space) {
      case ptx::Space::kGlobal:
        region = Region::kGlobal;
        break;
      case ptx::Space::kShared:
      case ptx::Space::kSharedCluster:
        region = Region::kShared;
        break;
      case ptx::Space::kLocal:
        region = Region::kLocal;
        break;
      case ptx::Space::kConst:
        region = Region::kConst;
        break;
      case ptx::Space::kParam:
        region = Region::kParam;
        break;
      case ptx::Space::kGeneric:
        region = Region::kGeneric;
        break;
      default:
        return Refuse("a parameter is addressed in a way that cannot be fenced");
    }
    found_.list.push_back({.operand = operand,
                           .region = region,
                           .bytes = bytes,
                           .align_log2 = std::min(align_log2, kMostAlignLog2),
                           .writes = writes,
                           .counted_by = counted_by,
                           .factor = factor});
  }

  void Plain(bool writes) {
    if (instruction_.space == ptx::Space::kParam) {
      if (IsWithinParameter(function_, instruction_)) return;
      if (writes || !function_.is_entry || function_.prototype.params.empty())
        return Refuse("a parameter is addressed in a way that cannot be fenced");
    }
    const uint64_t bytes = (BitsOf(instruction_.type()) + 7) / 8 * instruction_.vector;
    Add(NextAddress(0), instruction_.space, bytes, static_cast<uint32_t>(std::bit_width(bytes) - 1), writes);
  }

  // cp.async [shared], [global], size{, source size}; cp.async.bulk [to], [from], size{, [mbarrier]}.
  void Copy() {
    if (Has(M::kCommitGroup) || Has(M::kWaitGroup) || Has(M::kWaitAll) || Has(M::kPrefetch)) return;
    if (Has(M::kTensor)) return Refuse("copies by tensor maps cannot be fenced");
    const uint32_t to = NextAddress(0);
    if (Has(M::kMbarrier)) return Add(to, ptx::Space::kShared, 8, 3, true);
    const uint32_t from = to == kNone ? kNone : NextAddress(to + 1);
    if (from == kNone || from + 1 >= instruction_.operands.size()) return Refuse("the copy cannot be fenced");
    const ptx::Operand& size = instruction_.operands[from + 1];
    if (size.kind == OperandKind::kImmediate) {
      const auto align = static_cast<uint32_t>(std::bit_width(size.bits & 0xff) - (size.bits != 0 ? 1 : 0));
      Add(to, instruction_.space, size.bits, Has(M::kBulk) ? 4 : align, true);
      Add(from, instruction_.second_space, size.bits, Has(M::kBulk) ? 4 : align, false);
    } else {
      Add(to, instruction_.space, 0, 4, true, from + 1, 1);
      Add(from, instruction_.second_space, 0, 4, false, from + 1, 1);
    }
    Add(NextAddress(from + 1), ptx::Space::kShared, 8, 3, true);
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
      const uint64_t last = (major - 1) * bits / 8;
      const uint64_t row = (minor * bits + 7) / 8;
      Add(address, instruction_.space, given ? row : row + last * minor, 0, Has(M::kStore), given ? stride : kNone,
          last);
      return;
    }
    Refuse("matrices of this shape cannot be fenced");
  }

  const ptx::Function& function_;
  const ptx::Instruction& instruction_;
  Accesses found_;
};

}  // namespace

Accesses AccessesOf(const ptx::Function& function, const ptx::Instruction& instruction) {
  return Finder(function, instruction).Find();
}

bool IsWithinParameter(const ptx::Function& function, const ptx::Instruction& instruction) {
  for (const ptx::Operand& operand : instruction.operands) {
    if (operand.kind != OperandKind::kAddress) continue;
    if (operand.base != ptx::BaseKind::kLocal) return false;
    const ptx::LocalVariable& local = function.locals[operand.index];
    const uint64_t bytes = (BitsOf(instruction.type()) + 7) / 8 * instruction.vector, size = local.bytes();
    const auto at = static_cast<uint64_t>(operand.offset);
    return local.space == ptx::Space::kParam && operand.offset >= 0 && bytes <= size && at <= size - bytes;
  }
  return false;
}

}  // namespace tutti::compiler::fencing
