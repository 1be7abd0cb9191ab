#include "compiler/fence/function_fence.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "compiler/fence/call_fence.h"
#include "compiler/fence/call_graph.h"
#include "compiler/fence/check_functions.h"
#include "compiler/fence/launch_gate.h"
#include "guest/fault_kind.h"

namespace tutti::compiler::fencing {
namespace {

using M = ptx::Modifier;
using O = ptx::Opcode;
using T = ptx::Type;
using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;
using ptx::RegisterId;

constexpr uint64_t kSharedUnitBytes = 128;  // PTX ISA, %total_smem_size: sm_80 and later
constexpr uint32_t kWarpLanes = 32;
constexpr uint32_t kTurns = 1024;  // between two looks

class FunctionFence : private CallFence {
 public:
  FunctionFence(const ptx::Module& module, ptx::Function& function, uint32_t number, const FenceSymbols& symbols)
      : CallFence(module, function, number, symbols) {}

  std::string Run() {
    std::vector<uint32_t> starts;  // of what each old instruction became
    for (const Instruction& instruction : function_.instructions) {
      starts.push_back(static_cast<uint32_t>(made_.size()));
      StandAt(instruction);
      if (JumpsBack(instruction, static_cast<uint32_t>(starts.size() - 1))) CountTurn();
      Rewrite(instruction);
      if (!refusal_.empty()) return refusal_;
    }
    starts.push_back(static_cast<uint32_t>(made_.size()));
    std::vector<Instruction> body = std::move(made_);
    made_.clear();
    MakePrologue();
    const auto shift = static_cast<uint32_t>(made_.size());
    made_.insert(made_.end(), body.begin(), body.end());
    function_.instructions = std::move(made_);
    for (size_t i = 0; i < old_labels_; ++i)
      function_.labels[i].instruction = starts[function_.labels[i].instruction] + shift;
    for (size_t i = old_labels_; i < function_.labels.size(); ++i) function_.labels[i].instruction += shift;
    for (ptx::Pragma& pragma : function_.pragmas) pragma.instruction = starts[pragma.instruction] + shift;
    SortLabels();
    return {};
  }

 private:
  // Where a region starts and how long it is, as registers; made by the prologue.
  struct Bounds {
    RegisterId start, size;
    std::map<uint64_t, RegisterId> limits;  // by bytes of the access
  };
  Bounds& BoundsOf(Region region) {
    if (region == Region::kGeneric) region = Region::kGlobal;
    const auto [found, made] = bounds_.try_emplace(region);
    if (made) found->second = {NewRegister("start", T::kU64), NewRegister("size", T::kU64), {}};
    return found->second;
  }
  RegisterId LimitOf(Region region, uint64_t bytes) {
    const auto [found, made] = BoundsOf(region).limits.try_emplace(bytes, 0);
    if (made) found->second = NewRegister("limit", T::kU64);
    return found->second;
  }

  // `at`: its index in the function as it was.
  bool JumpsBack(const Instruction& instruction, uint32_t at) const {
    const auto is_before = [&](ptx::LabelId label) { return function_.labels[label].instruction <= at; };
    if (instruction.opcode == O::kBrx && instruction.branch_targets != ~0u)
      return std::ranges::any_of(function_.branch_targets[instruction.branch_targets], is_before);
    return instruction.opcode == O::kBra && !instruction.operands.empty() && is_before(instruction.operands[0].index);
  }
  void CountTurn() {
    if (turns_ == kNone) turns_ = NewRegister("turns", T::kU32);
    const RegisterId over = Temporary("over", T::kPred);
    const ptx::LabelId go_on = NewLabel();
    Emit(O::kSub, {}, {T::kU32}, {Register(turns_), Register(turns_), Number(1)});
    Emit(O::kSetp, {M::kEq}, {T::kU32}, {Register(over), Register(turns_), Number(0)});
    Emit(O::kBra, {}, {}, {Label(go_on)}).guard = ptx::Guard{over, true};
    Emit(O::kMov, {}, {T::kU32}, {Register(turns_), Number(kTurns)});
    EmitCall(symbols_.poll, {});
    Place(go_on);
  }

  void MakePrologue() {
    if (HasLaunchParameter(function_)) Begin();
    // Calls without a jump back may take for ever, too. Functions that call none end by themselves.
    if (!function_.is_entry && calls_) EmitCall(symbols_.poll, {});
    if (turns_ != kNone) Emit(O::kMov, {}, {T::kU32}, {Register(turns_), Number(kTurns)});
    MakeLocalBounds();
    for (auto& [region, bounds] : bounds_) {
      switch (region) {
        case Region::kShared:
          EmitMove(bounds.size, Symbol(symbols_.dynamic_shared));
          Emit(O::kAnd, {}, {T::kB64}, {Register(bounds.start), Register(bounds.size), Number(kSharedBlockMask)});
          Emit(O::kMov, {}, {T::kU32},
               {Register(Temporary("word", T::kU32)),
                {.kind = OperandKind::kSpecial,
                 .index = static_cast<uint32_t>(ptx::SpecialRegister::kDynamicSmemSize)}});
          Emit(O::kCvt, {}, {T::kU64, T::kU32},
               {Register(Temporary("at", T::kU64)), Register(Temporary("word", T::kU32))});
          Emit(O::kAdd, {}, {T::kU64},
               {Register(bounds.size), Register(bounds.size), Register(Temporary("at", T::kU64))});
          Emit(O::kSub, {}, {T::kU64}, {Register(bounds.size), Register(bounds.size), Register(bounds.start)});
          // In whole units, as it is allocated.
          Emit(O::kAdd, {}, {T::kU64}, {Register(bounds.size), Register(bounds.size), Number(kSharedUnitBytes - 1)});
          Emit(O::kAnd, {}, {T::kB64}, {Register(bounds.size), Register(bounds.size), Number(~(kSharedUnitBytes - 1))});
          break;
        case Region::kLocal:
          EmitMove(bounds.start, LowOf());
          Emit(O::kMax, {}, {T::kU64}, {Register(bounds.size), Register(bounds.start), HighOf()});
          Emit(O::kSub, {}, {T::kU64}, {Register(bounds.size), Register(bounds.size), Register(bounds.start)});
          break;
        case Region::kConst: MakeHull(bounds); break;
        case Region::kParam: {
          const auto last = static_cast<uint32_t>(function_.first_param + OwnParameters(function_) - 1);
          EmitMove(bounds.start, Local(function_.first_param));
          EmitMove(bounds.size, Local(last));
          Emit(O::kAdd, {}, {T::kU64},
               {Register(bounds.size), Register(bounds.size), Number(function_.locals[last].bytes())});
          Emit(O::kSub, {}, {T::kU64}, {Register(bounds.size), Register(bounds.size), Register(bounds.start)});
          break;
        }
        default: EmitLoadWord(bounds.start, 0); EmitLoadWord(bounds.size, 8);
      }
      for (const auto& [bytes, limit] : bounds.limits) {
        // size - (bytes - 1), and nothing if that is negative.
        Emit(O::kMax, {}, {T::kU64}, {Register(limit), Register(bounds.size), Number(bytes - 1)});
        Emit(O::kSub, {}, {T::kU64}, {Register(limit), Register(limit), Number(bytes - 1)});
      }
    }
  }
  // Before anything that others could see.
  void Begin() {
    const auto last = static_cast<uint32_t>(function_.first_param + function_.prototype.params.size() - 1);
    const RegisterId launch = NewRegister("launch", T::kU64);
    Emit(O::kLd, {}, {T::kU64},
         {Register(launch), {.kind = OperandKind::kAddress, .base = ptx::BaseKind::kLocal, .index = last}})
        .space = ptx::StateSpace::kParam;
    EmitCall(symbols_.begin, {Register(launch)});
  }
  void EmitLoadWord(RegisterId to, int64_t offset) {
    Instruction& load = Emit(
        O::kLd, {}, {T::kU64},
        {Register(to),
         {.kind = OperandKind::kAddress, .base = ptx::BaseKind::kSymbol, .index = symbols_.words, .offset = offset}});
    load.space = symbols_.words_space;
  }
  // From the first to the last constant; everything between them is the module's as well.
  void MakeHull(const Bounds& bounds) {
    const RegisterId at = Temporary("at", T::kU64);
    EmitMove(bounds.start, Number(~uint64_t{0}));
    EmitMove(bounds.size, Number(0));
    for (const ptx::SymbolId constant : symbols_.constants) {
      EmitMove(at, Symbol(constant));
      Emit(O::kMin, {}, {T::kU64}, {Register(bounds.start), Register(bounds.start), Register(at)});
      Emit(O::kAdd, {}, {T::kU64},
           {Register(at), Register(at), Number(module_.variables[module_.symbols[constant].index].bytes())});
      Emit(O::kMax, {}, {T::kU64}, {Register(bounds.size), Register(bounds.size), Register(at)});
    }
    if (symbols_.constants.empty()) return;
    Emit(O::kSub, {}, {T::kU64}, {Register(bounds.size), Register(bounds.size), Register(bounds.start)});
  }

  void Rewrite(const Instruction& instruction) {
    if (IsNumbered(instruction)) return;
    RefuseFunctions(std::span(instruction.operands).subspan(instruction.opcode == O::kCall ? 1 : 0));
    if (!refusal_.empty()) return;
    switch (instruction.opcode) {
      case O::kTrap:
      case O::kBrkpt: return Guarded(instruction, [&] { EmitFault(guest::FaultKind::kLaunchFailed, Number(0)); });
      case O::kBrx: return RewriteTable(instruction);
      case O::kCreatepolicy:  // nobody uses it
        Emit(O::kMov, {}, {T::kB64}, {instruction.operands[0], Number(0)}).guard = instruction.guard;
        return;
      case O::kCall: return RewriteCall(instruction);
      default: break;
    }
    const Accesses accesses = AccessesOf(module_, function_, instruction);
    refusal_ = accesses.refusal;
    if (!refusal_.empty() || accesses.is_hint) return;
    Instruction checked = instruction;
    for (const Access& access : accesses.list) {
      if (access.lanes < kWarpLanes) AddressIdleLanes(checked, access);
      Check(checked, access);
    }
    if (instruction.opcode == O::kBar || instruction.opcode == O::kBarrier) CheckBarrier(instruction);
    made_.push_back(Harmless(std::move(checked)));
  }

  // Lanes of which no address is used get one that does no harm: some hardware wants one (PTX ISA, ldmatrix: sm_75).
  void AddressIdleLanes(Instruction& instruction, const Access& access) {
    Operand& address = instruction.operands[access.operand];
    if (IsSafe(address, access)) return;
    const RegisterId row = Temporary("row", T::kU64), lane = Temporary("word", T::kU32),
                     counts = Temporary("outside", T::kPred);
    const RegisterId start = BoundsOf(access.region).start;
    Emit(O::kMov, {}, {T::kU32},
         {Register(lane),
          {.kind = OperandKind::kSpecial, .index = static_cast<uint32_t>(ptx::SpecialRegister::kLaneid)}});
    Emit(O::kSetp, {M::kLt}, {T::kU32}, {Register(counts), Register(lane), Number(access.lanes)});
    Emit(O::kSelp, {}, {T::kB64}, {Register(row), AddressOf(address), Register(start), Register(counts)});
    address = {.kind = OperandKind::kAddress, .base = ptx::BaseKind::kRegister, .index = row};
  }

  // A function's address as a value, where there are none: its number.
  bool IsNumbered(const Instruction& instruction) {
    if (symbols_.calls_by_address || instruction.opcode != O::kMov || instruction.operands.size() != 2) return false;
    const Operand& from = instruction.operands[1];
    const bool is_function =
        from.kind == OperandKind::kSymbol && module_.symbols[from.index].kind == ptx::Symbol::Kind::kFunction;
    if (!is_function || from.offset != 0 || BitsOf(instruction.type()) != 64) return false;
    Instruction named = instruction;
    named.operands[1] = Number(FunctionNumber(module_.functions[module_.symbols[from.index].index]));
    made_.push_back(std::move(named));
    return true;
  }

  // Code is nobody's to read. Where calls by address are refused, only who wants to overwrite where a call returns to
  // needs to know where it is.
  void RefuseFunctions(std::span<const Operand> operands) {
    for (const Operand& operand : operands) {
      const bool is_access = operand.kind == OperandKind::kAddress && operand.base == ptx::BaseKind::kSymbol;
      if (operand.kind == OperandKind::kVector) {
        RefuseFunctions(std::span(function_.vector_operands).subspan(operand.index, operand.count));
      } else if ((is_access || operand.kind == OperandKind::kSymbol) &&
                 module_.symbols[operand.index].kind == ptx::Symbol::Kind::kFunction) {
        if (is_access) Refuse("an access to a function cannot be fenced");
        if (!is_access && !symbols_.calls_by_address) Refuse("the address of a function cannot be fenced");
      }
    }
  }

  // Inside of a variable whatever the registers hold.
  bool IsSafe(const Operand& address, const Access& access) const {
    uint64_t size = 0, align = 1;
    if (address.base == ptx::BaseKind::kSymbol) {
      if (module_.symbols[address.index].kind != ptx::Symbol::Kind::kVariable) return false;
      const ptx::Variable& variable = module_.variables[module_.symbols[address.index].index];
      if (access.writes && variable.space == ptx::StateSpace::kConst) return false;
      size = variable.bytes();
      align = variable.alignment;
    } else if (address.base == ptx::BaseKind::kLocal) {
      size = function_.locals[address.index].bytes();
      align = function_.locals[address.index].alignment;
    } else {
      return false;
    }
    const uint64_t mask = (uint64_t{1} << access.align_log2) - 1;
    return access.counted_by == ~0u && address.offset >= 0 && access.bytes <= size &&
           static_cast<uint64_t>(address.offset) <= size - access.bytes &&
           (static_cast<uint64_t>(address.offset) & mask) == 0 && align > mask;
  }

  // The address as a 64-bit register.
  Operand AddressOf(const Operand& address) {
    const RegisterId at = Temporary("at", T::kU64);
    switch (address.base) {
      case ptx::BaseKind::kNone: EmitMove(at, Number(static_cast<uint64_t>(address.offset))); return Register(at);
      case ptx::BaseKind::kSymbol: EmitMove(at, Symbol(address.index)); break;
      case ptx::BaseKind::kLocal: EmitMove(at, Local(address.index)); break;
      case ptx::BaseKind::kRegister:
        if (BitsOf(function_.registers[address.index].type) == 64) {
          if (address.offset == 0) return Register(address.index);
          Emit(O::kAdd, {}, {T::kU64},
               {Register(at), Register(address.index), Number(static_cast<uint64_t>(address.offset))});
          return Register(at);
        }
        Emit(O::kCvt, {}, {T::kU64, T::kU32}, {Register(at), Register(address.index)});
        break;
    }
    if (address.offset != 0)
      Emit(O::kAdd, {}, {T::kU64}, {Register(at), Register(at), Number(static_cast<uint64_t>(address.offset))});
    return Register(at);
  }

  void Check(const Instruction& instruction, const Access& access) {
    const Operand& operand = instruction.operands[access.operand];
    if (IsSafe(operand, access)) return;
    uint32_t what = static_cast<uint32_t>(access.region) | access.align_log2 << kAlignShift;
    if (access.writes) what |= kWriteBit;
    if (access.counted_by != ~0u) return CheckCounted(instruction, access, what);

    const Bounds bounds = BoundsOf(access.region);
    const RegisterId limit = LimitOf(access.region, access.bytes);
    const RegisterId difference = Temporary("difference", T::kU64), outside = Temporary("outside", T::kPred);
    const Operand at = AddressOf(operand);
    Emit(O::kSub, {}, {T::kU64}, {Register(difference), at, Register(bounds.start)});
    Emit(O::kSetp, {M::kGe}, {T::kU64}, {Register(outside), Register(difference), Register(limit)});
    if (access.align_log2 != 0) OrMisaligned(at, access);
    if (instruction.guard) {
      RegisterId guard = instruction.guard->predicate;
      if (instruction.guard->negated) {
        guard = Temporary("guard", T::kPred);
        Emit(O::kNot, {}, {T::kPred}, {Register(guard), Register(instruction.guard->predicate)});
      }
      Emit(O::kAnd, {}, {T::kPred}, {Register(outside), Register(outside), Register(guard)});
    }
    const ptx::LabelId inside = NewLabel();
    Emit(O::kBra, {}, {}, {Label(inside)}).guard = ptx::Guard{outside, true};
    CallCheck(at, Number(access.bytes), what);
    Place(inside);
  }

  void OrMisaligned(const Operand& at, const Access& access) {
    const RegisterId difference = Temporary("difference", T::kU64), outside = Temporary("outside", T::kPred);
    Emit(O::kAnd, {}, {T::kB64}, {Register(difference), at, Number((uint64_t{1} << access.align_log2) - 1)});
    Emit(O::kSetp, {M::kNe, M::kOr}, {T::kU64},
         {Register(outside), Register(difference), Number(0), Register(outside)});
  }

  // For a size known only at run time: through __tutti_check alone for global memory, else inline.
  void CheckCounted(const Instruction& instruction, const Access& access, uint32_t what) {
    Guarded(instruction, [&] {
      const RegisterId bytes = Temporary("bytes", T::kU64), outside = Temporary("outside", T::kPred),
                       rest = Temporary("rest", T::kU64);
      Operand count = instruction.operands[access.counted_by];
      CheckCount(count, access);
      if (count.kind == OperandKind::kImmediate) {
        EmitMove(bytes, Number(static_cast<uint32_t>(count.bits) * access.factor));
      } else if (access.factor == 1 && count.kind == OperandKind::kRegister &&
                 BitsOf(function_.registers[count.index].type) == 64) {
        EmitMove(bytes, count);
      } else {
        Emit(O::kMul, {M::kWide}, {T::kU32}, {Register(bytes), count, Number(access.factor)});
      }
      if (access.shift != 0) Emit(O::kShr, {}, {T::kU64}, {Register(bytes), Register(bytes), Number(access.shift)});
      if (access.bytes != 0) Emit(O::kAdd, {}, {T::kU64}, {Register(bytes), Register(bytes), Number(access.bytes)});
      const Operand at = AddressOf(instruction.operands[access.operand]);
      if (access.region == Region::kGeneric || access.region == Region::kGlobal)
        return CallCheck(at, Register(bytes), what);
      const Bounds bounds = BoundsOf(access.region);
      const RegisterId difference = Temporary("difference", T::kU64);
      const ptx::LabelId inside = NewLabel();
      Emit(O::kSub, {}, {T::kU64}, {Register(difference), at, Register(bounds.start)});
      Emit(O::kSub, {}, {T::kU64}, {Register(rest), Register(bounds.size), Register(difference)});
      Emit(O::kSetp, {M::kGt}, {T::kU64}, {Register(outside), Register(difference), Register(bounds.size)});
      Emit(O::kSetp, {M::kGt, M::kOr}, {T::kU64},
           {Register(outside), Register(bytes), Register(rest), Register(outside)});
      if (access.align_log2 != 0) OrMisaligned(at, access);
      Emit(O::kBra, {}, {}, {Label(inside)}).guard = ptx::Guard{outside, true};
      CallCheck(at, Register(bytes), what);
      Place(inside);
    });
  }

  void CheckCount(const Operand& count, const Access& access) {
    const uint64_t mask = (uint64_t{1} << access.count_align_log2) - 1;
    if (mask == 0 || (count.kind == OperandKind::kImmediate && (count.bits & mask) == 0)) return;
    const RegisterId outside = Temporary("outside", T::kPred);
    const bool is_wide = count.kind == OperandKind::kRegister && BitsOf(function_.registers[count.index].type) == 64;
    if (is_wide) {
      const RegisterId rest = Temporary("rest", T::kU64);
      Emit(O::kAnd, {}, {T::kB64}, {Register(rest), count, Number(mask)});
      Emit(O::kSetp, {M::kNe}, {T::kU64}, {Register(outside), Register(rest), Number(0)});
    } else {
      const RegisterId word = Temporary("word", T::kU32);
      Emit(O::kMov, {}, {T::kU32}, {Register(word), count});
      Emit(O::kAnd, {}, {T::kB32}, {Register(word), Register(word), Number(mask)});
      Emit(O::kSetp, {M::kNe}, {T::kU32}, {Register(outside), Register(word), Number(0)});
    }
    FaultIf(outside, guest::FaultKind::kMisalignedAddress, Number(0));
  }

  void CallCheck(Operand at, Operand bytes, uint32_t what) {
    EmitCall(symbols_.check, {at, bytes, Number(what), Number(number_), Number(position_.line), LowOf(), HighOf()});
  }

  // An index beyond the table must not jump.
  void RewriteTable(const Instruction& instruction) {
    if (instruction.branch_targets == ~0u || instruction.operands.empty()) return Refuse("a branch without a table");
    Guarded(instruction, [&] {
      const RegisterId outside = Temporary("outside", T::kPred);
      const ptx::LabelId inside = NewLabel();
      const auto count = function_.branch_targets[instruction.branch_targets].size();
      Emit(O::kSetp, {M::kLt}, {T::kU32}, {Register(outside), instruction.operands[0], Number(count)});
      Emit(O::kBra, {}, {}, {Label(inside)}).guard = ptx::Guard{outside, false};
      EmitFault(guest::FaultKind::kInvalidPc, Number(0));
      Place(inside);
    });
    made_.push_back(instruction);
  }

  const size_t old_labels_ = function_.labels.size();
  std::map<Region, Bounds> bounds_;
  RegisterId turns_ = kNone;
};

}  // namespace

std::string FenceFunction(const ptx::Module& module, ptx::Function& function, uint32_t number,
                          const FenceSymbols& symbols) {
  return FunctionFence(module, function, number, symbols).Run();
}

ptx::Instruction FaultCall(const FenceSymbols& symbols, guest::FaultKind kind, uint32_t function, uint32_t line) {
  Instruction call;
  call.opcode = O::kCall;
  call.operands = {Symbol(symbols.fault), Number(0), Number(static_cast<uint32_t>(kind)), Number(function),
                   Number(line)};
  call.call_arguments = 4;
  return call;
}

}  // namespace tutti::compiler::fencing
