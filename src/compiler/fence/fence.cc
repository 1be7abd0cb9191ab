// A fenced module is the original with a check before each access (function_fence.h), and with what the checks share:
//
//   * __tutti_fence, constants that the device fills: where the client's memory is, and where to write a fault (in
//     global memory where the module's own constants leave no room: nobody may write there either);
//   * __tutti_variables, a table of the module's own variables: they lie where the driver loaded the module, not in the
//     window, and their addresses can be computed with;
//   * __tutti_check, __tutti_fault and __tutti_poll, what prints (print_functions.h), and what kernels begin with where
//     launches can be withdrawn (launch_gate.h), out of line.
//
// Names of the module stay, so the device finds its variables as in the original. Direct accesses to variables, which
// are the most frequent, need no check. A thread cannot ask for the bounds of its local memory: where a module has
// local variables, each function passes the bounds of its callers' on to the functions it calls (local_bounds.h).
//
// What cannot be checked, since the hardware takes an address from a descriptor, a handle or another block, is refused.
#include "compiler/fence/fence.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "compiler/fence/call_graph.h"
#include "compiler/fence/check_functions.h"
#include "compiler/fence/function_fence.h"
#include "compiler/fence/launch_gate.h"
#include "compiler/fence/local_bounds.h"
#include "compiler/fence/local_names.h"
#include "compiler/fence/print_functions.h"
#include "cuda/result.h"
#include "guest/fault_kind.h"
#include "guest/gpu/conditions.h"
#include "guest/gpu/fenced_ptx.h"
#include "guest/gpu/managed_variables.h"
#include "ptx/condition_setter.h"
#include "ptx/managed_variables.h"
#include "ptx/printer.h"

namespace tutti::compiler {
namespace {

using namespace fencing;
using ptx::OperandKind;

class ModuleFence {
 public:
  ModuleFence(ptx::Module module, const FenceOptions& options) : module_(std::move(module)), options_(options) {}

  Result<FencedModule> Run() {
    TUTTI_TRY(CheckModule());
    KeepNamesApart(module_);
    ForgetPromises();
    for (const ptx::Function& function : module_.functions) result_.functions.push_back(function.name);
    (void)ptx::TakeOutManagedVariables(&module_, guest::kManagedPrefix);  // those that stay are the device's alone
    ptx::DefineSetConditional(&module_, guest::kSetConditionFunction);
    refusals_.resize(module_.functions.size());
    // Debug sections are not printed, but with this target an assembler would expect them.
    if (const size_t debug = module_.target.find(", debug"); debug != std::string::npos) module_.target.erase(debug, 7);
    meanings_.full = IsFull();
    if (meanings_.full) symbols_.words_space = ptx::StateSpace::kGlobal;
    AddTable();
    Describe();
    AddSymbols();
    const CallGraph calls(module_, symbols_.called_by_address);
    if (!options_.unbounded_stack) {
      for (const uint32_t i : calls.Recursive()) refusals_[i] = "recursion cannot be fenced";
    }
    if (!options_.unbounded_stack) NumberFunctions();
    if (symbols_.has_local) std::ranges::for_each(module_.functions, AddLocalBounds);
    if (!options_.unbounded_stack) AddGates();
    if (!options_.own_parameters) std::ranges::for_each(module_.functions, AddLaunchParameter);
    for (uint32_t i = 0; i < result_.functions.size(); ++i) {
      ptx::Function& function = module_.functions[i];
      if (!function.has_body || !refusals_[i].empty()) continue;
      refusals_[i] = function.body_parsed ? FenceFunction(module_, function, i, symbols_) : function.error;
    }
    RefuseCallers(calls);
    for (uint32_t i = 0; i < refusals_.size(); ++i) {
      if (!refusals_[i].empty()) Refuse(module_.functions[i], i, refusals_[i]);
    }
    result_.ptx = ptx::Print(module_) + CheckFunctions(meanings_);
    for (const CallGate& gate : symbols_.gates) result_.ptx += GateText(module_, gate);
    return std::move(result_);
  }

 private:
  Status CheckModule() {
    if (module_.address_bits != 64)
      return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, "only modules of 64-bit addresses can be fenced");
    for (const ptx::Symbol& symbol : module_.symbols) {
      // No compiler begins a symbol's name like a register's.
      if (IsReserved(symbol.name) || symbol.name.starts_with('%'))
        return Fail(cuda::CUDA_ERROR_INVALID_PTX, "the name " + symbol.name + " is reserved");
    }
    return {};
  }

  // The assembler would believe that a function never returns, and leave out what stands behind its calls.
  void ForgetPromises() {
    for (ptx::Function& function : module_.functions) {
      function.noreturn = function.prototype.noreturn = false;
      for (ptx::Prototype& prototype : function.prototypes) prototype.noreturn = false;
    }
  }

  ptx::SymbolId AddVariable(ptx::Variable variable) {
    module_.symbols.push_back(
        {variable.name, ptx::Symbol::Kind::kVariable, static_cast<uint32_t>(module_.variables.size())});
    module_.variables.push_back(std::move(variable));
    return static_cast<ptx::SymbolId>(module_.symbols.size() - 1);
  }

  ptx::SymbolId AddFunction(const char* name, std::initializer_list<ptx::Type> params, bool returns = false) {
    ptx::Function function;
    function.name = name;
    function.symbol = static_cast<ptx::SymbolId>(module_.symbols.size());
    if (returns) {
      function.prototype.returns.push_back(
          {.name = "result", .space = ptx::StateSpace::kParam, .type = ptx::Type::kB32, .alignment = 4});
      function.locals.push_back(function.prototype.returns.back());
      function.first_param = 1;
    }
    for (const ptx::Type type : params) {
      function.prototype.params.push_back({.name = "p" + std::to_string(function.locals.size()),
                                           .space = ptx::StateSpace::kParam,
                                           .type = type,
                                           .alignment = BitsOf(type) / 8});
      function.locals.push_back(function.prototype.params.back());
    }
    module_.symbols.push_back({name, ptx::Symbol::Kind::kFunction, static_cast<uint32_t>(module_.functions.size())});
    module_.functions.push_back(std::move(function));
    return static_cast<ptx::SymbolId>(module_.symbols.size() - 1);
  }

  // Whether the module's constants leave no room for a table row per variable and the fence's words.
  bool IsFull() const {
    constexpr uint64_t kMostConstantBytes = 64 << 10;
    uint64_t bytes = sizeof(guest::FenceWords) + alignof(guest::FenceWords);
    for (const ptx::Variable& variable : module_.variables) {
      if (variable.space == ptx::StateSpace::kConst) bytes += variable.bytes() + variable.alignment;
      bytes += kTableRowBytes;
    }
    return bytes > kMostConstantBytes;
  }

  void AddTable() {
    ptx::Variable table{.name = kVariableTable, .space = symbols_.words_space, .type = ptx::Type::kU64, .alignment = 8};
    for (ptx::SymbolId id = 0; id < module_.symbols.size(); ++id) {
      if (module_.symbols[id].kind != ptx::Symbol::Kind::kVariable) continue;
      const ptx::Variable& variable = module_.variables[module_.symbols[id].index];
      const bool constant = variable.space == ptx::StateSpace::kConst;
      if (constant) symbols_.constants.push_back(id);
      if ((!constant && variable.space != ptx::StateSpace::kGlobal) || variable.bytes() == 0) continue;
      table.init.addresses.push_back({table.init.bytes.size(), id, 0, true});
      const uint64_t row[] = {0, variable.bytes(), constant ? kWriteBit : 0};
      const auto* bytes = reinterpret_cast<const uint8_t*>(row);
      table.init.bytes.insert(table.init.bytes.end(), bytes, bytes + sizeof row);
      ++meanings_.variables;
    }
    if (meanings_.variables == 0) return;
    table.count = table.init.bytes.size() / 8;
    AddVariable(std::move(table));
  }

  // Determines what addresses in this module may refer to.
  void Describe() {
    std::set<uint32_t> by_address;
    const auto mention = [&](ptx::SymbolId id) {
      if (module_.symbols[id].kind == ptx::Symbol::Kind::kFunction) by_address.insert(module_.symbols[id].index);
    };
    for (const ptx::Variable& variable : module_.variables) {
      meanings_.shared |= variable.space == ptx::StateSpace::kShared;
      for (const auto& address : variable.init.addresses) mention(address.symbol);
    }
    for (const ptx::Function& function : module_.functions) {
      for (const ptx::LocalVariable& local : function.locals) {
        meanings_.local |= local.space == ptx::StateSpace::kLocal;
        meanings_.shared |= local.space == ptx::StateSpace::kShared;
      }
      for (const ptx::Instruction& instruction : function.instructions) {
        meanings_.parameters |=
            instruction.opcode == ptx::Opcode::kCvta && instruction.space == ptx::StateSpace::kParam;
        for (size_t i = 0; i < instruction.operands.size(); ++i) {
          const ptx::Operand& operand = instruction.operands[i];
          const bool is_target = instruction.opcode == ptx::Opcode::kCall && i == 0;
          if (operand.kind == OperandKind::kSymbol && !is_target) mention(operand.index);
          meanings_.workspace |= operand.kind == OperandKind::kSpecial &&
                                 operand.index == static_cast<uint32_t>(ptx::SpecialRegister::kEnvreg1);
        }
      }
    }
    for (const uint32_t index : by_address) {
      if (module_.functions[index].has_body) symbols_.called_by_address.push_back(index);
    }
    const auto prints = [](const ptx::Function& function) {
      return !function.has_body && (function.name == "vprintf" || function.name == "__assertfail");
    };
    meanings_.prints = !options_.prints && std::ranges::any_of(module_.functions, prints);
    symbols_.has_local = meanings_.local;
    symbols_.prints = options_.prints;
    symbols_.calls_by_address = options_.unbounded_stack;
    meanings_.begins = !options_.own_parameters;
  }

  // Variables have functions' numbers in place of their addresses.
  void NumberFunctions() {
    for (ptx::Variable& variable : module_.variables) {
      ptx::Initializer& init = variable.init;
      for (const ptx::Initializer::AddressOf& address : init.addresses) {
        if (module_.symbols[address.symbol].kind != ptx::Symbol::Kind::kFunction || address.addend != 0) continue;
        const uint64_t number = FunctionNumber(module_.functions[module_.symbols[address.symbol].index]);
        init.bytes.resize(std::max<size_t>(init.bytes.size(), address.offset + sizeof number));
        std::memcpy(init.bytes.data() + address.offset, &number, sizeof number);
      }
      std::erase_if(init.addresses, [&](const ptx::Initializer::AddressOf& address) {
        return module_.symbols[address.symbol].kind == ptx::Symbol::Kind::kFunction;
      });
    }
  }

  // For each shape of a call by a number.
  void AddGates() {
    for (uint32_t i = 0; i < result_.functions.size(); ++i) {
      for (const ptx::Instruction& instruction : module_.functions[i].instructions) {
        if (instruction.opcode != ptx::Opcode::kCall || instruction.prototype == ~0u ||
            instruction.operands[0].kind == OperandKind::kSymbol)
          continue;
        const ptx::Prototype& prototype = module_.functions[i].prototypes[instruction.prototype];
        const auto has_it = [&](const CallGate& gate) { return HaveSameShape(gate.prototype, prototype); };
        if (!CanHaveGate(prototype) || std::ranges::any_of(symbols_.gates, has_it)) continue;
        symbols_.gates.push_back(
            {.name = "__tutti_call_" + std::to_string(symbols_.gates.size()),
             .prototype = GatePrototype(prototype),
             .targets = TargetsOf(module_, module_.functions[i], instruction, symbols_.called_by_address)});
      }
    }
    for (CallGate& gate : symbols_.gates) {
      gate.symbol = AddFunction(gate.name.c_str(), {});
      ptx::Function& function = module_.functions.back();
      function.prototype = gate.prototype;
      for (const ptx::Type type : {ptx::Type::kB64, ptx::Type::kB32, ptx::Type::kB32}) {
        function.prototype.params.push_back(
            {.name = "", .space = ptx::StateSpace::kParam, .type = type, .alignment = BitsOf(type) / 8});
      }
      function.locals = function.prototype.returns;
      function.first_param = static_cast<uint32_t>(function.locals.size());
      function.locals.insert(function.locals.end(), function.prototype.params.begin(), function.prototype.params.end());
      for (size_t i = 0; i < function.locals.size(); ++i) function.locals[i].name = "p" + std::to_string(i);
    }
  }

  void AddSymbols() {
    using T = ptx::Type;
    symbols_.words = AddVariable({.name = guest::kFenceVariable,
                                  .space = symbols_.words_space,
                                  .linkage = ptx::Linkage::kVisible,
                                  .type = T::kU64,
                                  .count = sizeof(guest::FenceWords) / sizeof(uint64_t),
                                  .alignment = 8});
    symbols_.dynamic_shared = AddVariable({.name = kDynamicShared,
                                           .space = ptx::StateSpace::kShared,
                                           .linkage = ptx::Linkage::kExtern,
                                           .type = T::kB8,
                                           .count = 0,
                                           .alignment = 4});
    symbols_.poll = AddFunction(kPollFunction, {});
    if (!options_.own_parameters) symbols_.begin = AddFunction(kBeginFunction, {T::kB64});
    symbols_.fault = AddFunction(kFaultFunction, {T::kB64, T::kB32, T::kB32, T::kB32});
    symbols_.check = AddFunction(kCheckFunction, {T::kB64, T::kB64, T::kB32, T::kB32, T::kB32, T::kB64, T::kB64});
    if (!meanings_.prints) return;
    symbols_.print = AddFunction(kPrintFunction, {T::kB64, T::kB64, T::kB32, T::kB32, T::kB32, T::kB64, T::kB64}, true);
    symbols_.assertion =
        AddFunction(kAssertFunction, {T::kB64, T::kB64, T::kB32, T::kB64, T::kB32, T::kB32, T::kB64, T::kB64});
  }

  // With the reason at the end of the calls: a chain of them may be long.
  void RefuseCallers(const CallGraph& calls) {
    constexpr size_t kSaid = 200;
    std::vector<std::pair<uint32_t, std::string>> refused;  // with what its callers are told
    for (uint32_t i = 0; i < refusals_.size(); ++i) {
      if (refusals_[i].empty()) continue;
      refused.emplace_back(
          i, "it calls " + module_.functions[i].name.substr(0, kSaid) + ": " + refusals_[i].substr(0, kSaid));
    }
    while (!refused.empty()) {
      const auto [callee, why] = std::move(refused.back());
      refused.pop_back();
      for (const uint32_t caller : calls.CallersOf(callee)) {
        if (!refusals_[caller].empty()) continue;
        refusals_[caller] = why;
        refused.emplace_back(caller, why);
      }
    }
  }

  // A function that cannot be fenced gets a body that faults, so references to it stay valid.
  void Refuse(ptx::Function& function, uint32_t number, const std::string& why) {
    result_.refused.emplace_back(function.name, why);
    function.labels.clear();
    function.pragmas.clear();
    function.prototypes.clear();
    function.branch_targets.clear();
    function.error.clear();
    function.body_parsed = true;
    function.instructions = {
        FaultCall(symbols_, guest::FaultKind::kIllegalInstruction, number, function.position.line)};
  }

  ptx::Module module_;
  const FenceOptions options_;
  FenceSymbols symbols_;
  Meanings meanings_;
  std::vector<std::string> refusals_;  // by function; empty: none
  FencedModule result_;
};

}  // namespace

Result<FencedModule> FencePtx(ptx::Module module, const FenceOptions& options) {
  return ModuleFence(std::move(module), options).Run();
}

}  // namespace tutti::compiler
