#include "compiler/fence/call_fence.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "compiler/fence/call_gates.h"
#include "guest/fault_kind.h"
#include "guest/gpu/print_fifo.h"

namespace tutti::compiler::fencing {

using M = ptx::Modifier;
using O = ptx::Opcode;
using T = ptx::Type;
using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;
using ptx::RegisterId;

namespace {

bool Takes(const ptx::Prototype& prototype, std::initializer_list<uint64_t> bytes) {
  return std::ranges::equal(prototype.params, bytes, {}, &ptx::LocalVariable::bytes);
}

}  // namespace

void CallFence::RewriteCall(const Instruction& instruction) {
  calls_ = true;
  const Operand& target = instruction.operands[0];
  if (target.kind == OperandKind::kSymbol) {
    const ptx::Function& callee = module_.functions[module_.symbols[target.index].index];
    if (!callee.has_body) return RewriteRuntimeCall(instruction, callee);
    Instruction call = instruction;
    call.prototype = ~0u;  // the callee has its own
    return PassLocalBounds(std::move(call));
  }
  if (!symbols_.calls_by_address) return CallByNumber(instruction);
  Guarded(instruction, [&] { CheckTarget(instruction); });
  PassLocalBounds(instruction);
}

void CallFence::RewriteRuntimeCall(const Instruction& instruction, const ptx::Function& callee) {
  if (callee.name == "__assertfail") {
    return Guarded(instruction, [&] {
      if (!symbols_.prints) SayAssertion(instruction, callee.prototype);
      EmitFault(guest::FaultKind::kAssert, Number(0));
    });
  }
  if (callee.name == "vprintf" && symbols_.prints) return made_.push_back(instruction);
  if (callee.name == "vprintf" && Takes(callee.prototype, {8, 8}) && instruction.call_returns == 1 &&
      callee.prototype.returns.size() == 1 && callee.prototype.returns[0].bytes() == 4)
    return Print(instruction);
  Refuse(fmt::format("a call of {} cannot be fenced", callee.name));
}

// With what a check needs, as __tutti_print takes it.
void CallFence::Print(Instruction call) {
  call.operands[0] = Symbol(symbols_.print);
  for (const Operand& operand : {Number(static_cast<uint32_t>(guest::PrintKind::kText)), Number(number_),
                                 Number(position_.line), LowOf(), HighOf()})
    call.operands.push_back(operand);
  call.call_arguments += 5;
  made_.push_back(std::move(call));
}
// Unless it is declared as no compiler does.
void CallFence::SayAssertion(const Instruction& call, const ptx::Prototype& prototype) {
  if (!Takes(prototype, {8, 8, 4, 8, 8}) || call.call_arguments != 5 || call.call_returns != 0) return;
  const std::span<const Operand> said = std::span(call.operands).subspan(1);
  EmitCall(symbols_.assertion,
           {said[0], said[1], said[2], said[3], Number(number_), Number(position_.line), LowOf(), HighOf()});
}

void CallFence::PassLocalBounds(Instruction instruction) {
  if (symbols_.has_local) {
    instruction.operands.push_back(LowOf());
    instruction.operands.push_back(HighOf());
    instruction.call_arguments += 2;
  }
  made_.push_back(std::move(instruction));
}

void CallFence::CallByNumber(Instruction call) {
  if (call.prototype == ~0u) return Refuse("a call by address without a prototype cannot be fenced");
  const auto gate = std::ranges::find_if(symbols_.gates, [&](const CallGate& one) {
    return HaveSameShape(one.prototype, function_.prototypes[call.prototype]);
  });
  if (gate == symbols_.gates.end())
    return Refuse("a call by address with values in registers, or with large ones, cannot be fenced");
  const Operand number = call.operands[0];
  call.operands[0] = Symbol(gate->symbol);
  call.prototype = ~0u;
  if (symbols_.has_local) {
    call.operands.push_back(LowOf());
    call.operands.push_back(HighOf());
    call.call_arguments += 2;
  }
  for (const Operand& operand : {number, Number(number_), Number(position_.line)}) call.operands.push_back(operand);
  call.call_arguments += 3;
  made_.push_back(std::move(call));
}

// The target must be one of the functions whose address the module takes, with the same parameters.
void CallFence::CheckTarget(const Instruction& instruction) {
  const RegisterId known = Temporary("outside", T::kPred), address = Temporary("at", T::kU64);
  const ptx::Prototype* wanted = instruction.prototype != ~0u ? &function_.prototypes[instruction.prototype] : nullptr;
  const auto same = [](const std::vector<ptx::LocalVariable>& a, const std::vector<ptx::LocalVariable>& b) {
    return std::ranges::equal(a, b, {}, &ptx::LocalVariable::bytes, &ptx::LocalVariable::bytes);
  };
  Emit(O::kSetp, {M::kNe}, {T::kU64}, {Register(known), instruction.operands[0], instruction.operands[0]});
  for (const uint32_t index : symbols_.called_by_address) {
    const ptx::Function& function = module_.functions[index];
    if (wanted != nullptr &&
        (!same(wanted->params, function.prototype.params) || !same(wanted->returns, function.prototype.returns)))
      continue;
    EmitMove(address, Symbol(function.symbol));
    Emit(O::kSetp, {M::kEq, M::kOr}, {T::kU64},
         {Register(known), instruction.operands[0], Register(address), Register(known)});
  }
  const ptx::LabelId good = NewLabel();
  Emit(O::kBra, {}, {}, {Label(good)}).guard = ptx::Guard{known, false};
  EmitFault(guest::FaultKind::kInvalidPc, instruction.operands[0]);
  Place(good);
}

Operand CallFence::LocalBound(RegisterId& id, const char* name) {
  if (!symbols_.has_local) return Number(0);
  if (id == kNone) id = NewRegister(name, T::kU64);
  return Register(id);
}

void CallFence::MakeLocalBounds() {
  if (low_ == kNone || !symbols_.has_local) return;
  const Operand low = LowOf(), high = HighOf();
  if (function_.is_entry) {
    EmitMove(low.index, Number(~uint64_t{0}));
    EmitMove(high.index, Number(0));
  } else {
    const auto end = static_cast<uint32_t>(function_.first_param + function_.prototype.params.size());
    for (const uint32_t i : {0u, 1u}) {
      Instruction& load = Emit(
          O::kLd, {}, {T::kU64},
          {i == 0 ? low : high, {.kind = OperandKind::kAddress, .base = ptx::BaseKind::kLocal, .index = end - 2 + i}});
      load.space = ptx::StateSpace::kParam;
    }
  }
  const RegisterId at = Temporary("at", T::kU64);
  for (uint32_t i = 0; i < function_.locals.size(); ++i) {
    if (function_.locals[i].space != ptx::StateSpace::kLocal) continue;
    EmitMove(at, Local(i));
    Emit(O::kMin, {}, {T::kU64}, {low, low, Register(at)});
    Emit(O::kAdd, {}, {T::kU64}, {Register(at), Register(at), Number(function_.locals[i].bytes())});
    Emit(O::kMax, {}, {T::kU64}, {high, high, Register(at)});
  }
}

}  // namespace tutti::compiler::fencing
