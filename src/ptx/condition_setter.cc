#include "ptx/condition_setter.h"

#include <algorithm>
#include <string>

namespace tutti::ptx {
namespace {

bool IsDeclaration(const Function& function) {
  const Prototype& shape = function.prototype;
  const auto is = [&](size_t i, uint32_t bits) {
    return BitsOf(shape.params[i].type) == bits && shape.params[i].space == StateSpace::kParam &&
           shape.params[i].count == 1 && shape.params[i].vector == 1;
  };
  return !function.is_entry && !function.has_body && function.name == kSetConditional && shape.returns.empty() &&
         shape.params.size() == 2 && is(0, 64) && is(1, 32);
}

Operand RegisterOf(RegisterId id) { return {.kind = OperandKind::kRegister, .index = id}; }

Instruction Of(Opcode opcode, StateSpace space, Type type, std::vector<Operand> operands) {
  Instruction made;
  made.opcode = opcode;
  made.space = space;
  made.types.push_back(type);
  made.operands = std::move(operands);
  return made;
}

void Define(Function& function) {
  function.has_body = function.body_parsed = true;
  function.linkage = Linkage::kNone;
  // A declaration's names are any: two alike, or one that means something else in the body.
  function.prototype.params[0].name = "$handle";
  function.prototype.params[1].name = "$value";
  function.locals = function.prototype.params;
  function.first_return = function.first_param = 0;
  function.registers = {{"%handle", Type::kU64}, {"%value", Type::kU32}};
  const auto load = [](Type type, RegisterId to) {
    return Of(Opcode::kLd, StateSpace::kParam, type,
              {RegisterOf(to), {.kind = OperandKind::kAddress, .base = BaseKind::kLocal, .index = to}});
  };
  Instruction end;
  end.opcode = Opcode::kRet;
  function.instructions = {
      load(Type::kU64, 0), load(Type::kU32, 1),
      Of(Opcode::kSt, StateSpace::kGlobal, Type::kU32,
         {{.kind = OperandKind::kAddress, .base = BaseKind::kRegister, .index = 0}, RegisterOf(1)}),
      std::move(end)};
}

}  // namespace

bool DeclaresSetConditional(const Module& module) { return std::ranges::any_of(module.functions, IsDeclaration); }

void DefineSetConditional(Module* module, std::string_view name) {
  for (Function& function : module->functions) {
    if (!IsDeclaration(function)) continue;
    Define(function);
    function.name = name;
    module->symbols[function.symbol].name = name;
  }
}

}  // namespace tutti::ptx
