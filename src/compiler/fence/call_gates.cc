#include "compiler/fence/call_gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "compiler/fence/call_graph.h"
#include "compiler/fence/check_functions.h"
#include "guest/fault_kind.h"

namespace tutti::compiler::fencing {
namespace {

using Variables = std::vector<ptx::LocalVariable>;

// As an assembler compares what a call passes with what its function takes.
bool AreSame(const ptx::LocalVariable& a, const ptx::LocalVariable& b) {
  return a.bytes() == b.bytes() && BitsOf(a.type) == BitsOf(b.type) && a.alignment == b.alignment && a.space == b.space;
}

std::string Declaration(const ptx::LocalVariable& variable, const std::string& name) {
  const uint64_t each = BitsOf(variable.type) / 8, count = variable.bytes() / each;
  return fmt::format(".param .align {} .b{} {}{}", variable.alignment, 8 * each, name,
                     count == 1 ? "" : fmt::format("[{}]", count));
}

// `names`: what a variable of that index is called.
template <typename Names>
std::string List(const Variables& variables, Names names) {
  std::string text;
  for (size_t i = 0; i < variables.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", Declaration(variables[i], names(i)));
  return text;
}

// Loads or stores a variable whole, from and to registers of that prefix.
std::string Move(const ptx::LocalVariable& variable, const std::string& name, const std::string& registers,
                 bool stores) {
  const uint64_t most = std::min<uint64_t>(std::bit_floor(variable.alignment), sizeof(uint64_t));
  std::string text;
  for (uint64_t at = 0, piece = 0; at < variable.bytes(); at += piece) {
    piece = std::min(most, std::bit_floor(variable.bytes() - at));
    const std::string held = fmt::format("{}_{}", registers, at), place = fmt::format("[{}+{}]", name, at);
    if (!stores) text += fmt::format("\t.reg .b{} {};\n", std::max<uint64_t>(8 * piece, 16), held);
    text += stores ? fmt::format("\tst.param.b{} {}, {};\n", 8 * piece, place, held)
                   : fmt::format("\tld.param.b{} {}, {};\n", 8 * piece, held, place);
  }
  return text;
}

std::string Parameter(size_t i) { return fmt::format("__tutti_taken_{}", i); }
std::string Argument(size_t i) { return fmt::format("__tutti_given_{}", i); }
std::string Names(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + Argument(i);
  return text;
}

}  // namespace

bool HaveSameShape(const ptx::Prototype& a, const ptx::Prototype& b) {
  return std::ranges::equal(a.params, b.params, AreSame) && std::ranges::equal(a.returns, b.returns, AreSame);
}

bool CanHaveGate(const ptx::Prototype& prototype) {
  const auto in_memory = [](const ptx::LocalVariable& variable) {
    return variable.space == ptx::StateSpace::kParam && variable.bytes() != 0 &&
           variable.bytes() <= kMostGateVariableBytes && BitsOf(variable.type) >= 8;
  };
  return prototype.returns.size() <= 1 && std::ranges::all_of(prototype.params, in_memory) &&
         std::ranges::all_of(prototype.returns, in_memory);
}

ptx::Prototype GatePrototype(ptx::Prototype prototype) {
  for (Variables* const variables : {&prototype.params, &prototype.returns}) {
    for (ptx::LocalVariable& variable : *variables) {
      const uint64_t bytes = variable.bytes(), bits = BitsOf(variable.type);
      variable.type = *ptx::TypeFromName(fmt::format("b{}", bits));
      variable.vector = 1;
      variable.count = bytes / (bits / 8);
    }
  }
  return prototype;
}

// Names of its own are the fence's: functions of the module are called by theirs.
std::string GateText(const ptx::Module& module, const CallGate& gate) {
  const Variables &params = gate.prototype.params, &returns = gate.prototype.returns;
  const auto result = [](size_t) { return "__tutti_result"; };
  std::string text = ".func ";
  if (!returns.empty()) text += fmt::format("({}) ", List(returns, result));
  text += fmt::format("{}({}{}.param .b64 __tutti_number, .param .b32 __tutti_place, .param .b32 __tutti_line)\n{{\n",
                      gate.name, List(params, Parameter), params.empty() ? "" : ", ");
  text +=
      "\t.reg .pred %p;\n\t.reg .b32 %place, %line;\n\t.reg .b64 %number;\n"
      "\tld.param.u64 %number, [__tutti_number];\n\tld.param.u32 %place, [__tutti_place];\n\tld.param.u32 %line, "
      "[__tutti_line];\n";
  for (size_t i = 0; i < params.size(); ++i) text += Move(params[i], Parameter(i), "%" + Argument(i), false);
  for (const uint32_t target : gate.targets) {
    const ptx::Function& function = module.functions[target];
    text += fmt::format("\tsetp.ne.s64 %p, %number, {};\n\t@%p bra __tutti_next_{};\n\t{{\n",
                        static_cast<int64_t>(FunctionNumber(function)), target);
    for (size_t i = 0; i < params.size(); ++i)
      text +=
          "\t" + Declaration(params[i], Argument(i)) + ";\n" + Move(params[i], Argument(i), "%" + Argument(i), true);
    if (!returns.empty()) text += "\t" + Declaration(returns[0], "__tutti_got") + ";\n";
    text += fmt::format("\tcall {}{}, ({});\n", returns.empty() ? "" : "(__tutti_got), ", function.name,
                        Names(params.size()));
    if (!returns.empty())
      text += Move(returns[0], "__tutti_got", "%got", false) + Move(returns[0], "__tutti_result", "%got", true);
    text += fmt::format("\tret;\n\t}}\n__tutti_next_{}:\n", target);
  }
  return text + fmt::format("\tcall {}, (%number, {}, %place, %line);\n\tret;\n}}\n\n", kFaultFunction,
                            static_cast<uint32_t>(guest::FaultKind::kInvalidPc));
}

}  // namespace tutti::compiler::fencing
