// Where a thread goes next.
#include <cstring>

#include "cuda/result.h"
#include "interpreter/families.h"

namespace tutti::interpreter {
namespace {

constexpr uint64_t kFunctionAddress = uint64_t{1} << 60;  // Step::AddressOf
constexpr size_t kMostFrames = 20000;  // after which a thread's stack overflows
constexpr uint64_t kMostTaken = 1 << 20;  // bytes of local memory, likewise

uint8_t* PlaceOf(Thread& thread, const Frame& frame, uint32_t local) {
  return thread.local.data() + frame.locals[local];
}

// A value between a frame and what a caller or callee declares: both sides .param variables, registers or numbers.
std::vector<uint8_t> Take(Step& step, const Operand& operand, const ptx::LocalVariable& as) {
  std::vector<uint8_t> bytes(as.bytes());
  if (operand.kind == OperandKind::kLocal) {
    std::memcpy(bytes.data(), PlaceOf(step.thread, step.thread.frame(), operand.index),
                std::min<size_t>(bytes.size(), step.function().locals[operand.index].bytes()));
  } else {
    const Bits value = step.Wide(operand, as.type);
    std::memcpy(bytes.data(), &value, std::min(bytes.size(), sizeof value));
  }
  return bytes;
}

void PutInto(Thread& thread, Frame& frame, uint32_t local, const std::vector<uint8_t>& bytes) {
  const ptx::LocalVariable& variable = frame.function->locals[local];
  if (variable.space == StateSpace::kReg) {
    Bits value = 0;
    std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
    if (variable.register_id < frame.registers.size()) frame.registers[variable.register_id] = value;
  } else {
    std::memcpy(PlaceOf(thread, frame, local), bytes.data(), bytes.size());
  }
}

}  // namespace

void Branch(Step& step) {
  step.Accept({Modifier::kUni});
  step.thread.frame().next = step.function().labels[step.in.operands[0].index].instruction;
}

void BranchIndexed(Step& step) {
  step.Accept({Modifier::kUni, Modifier::kIdx});
  const auto& targets = step.function().branch_targets[step.in.branch_targets];
  const uint64_t index = step.Get(0, Type::kU32);
  if (index >= targets.size()) return step.Refuse("an index behind the targets");
  step.thread.frame().next = step.function().labels[targets[index]].instruction;
}

void Call(Step& step) {
  step.Accept({Modifier::kUni});
  const Operand& target = step.in.operands[0];
  uint64_t index;
  if (target.kind == OperandKind::kSymbol)
    index = step.module().symbols[target.index].index;
  else
    index = step.Get(target, Type::kU64) - kFunctionAddress;
  if (index >= step.module().functions.size()) return step.Refuse("a call of what is no function");
  const ptx::Function& callee = step.module().functions[index];
  if (!callee.has_body) return CallService(step, callee.name);
  if (!callee.error.empty()) return step.Refuse(callee.error);
  if (step.thread.frames.size() >= kMostFrames)
    return step.Fault(cuda::CUDA_ERROR_HARDWARE_STACK_ERROR, "stack overflow");
  std::vector<std::vector<uint8_t>> arguments;
  for (uint32_t i = 0; i < step.in.call_arguments; ++i) {
    arguments.push_back(Take(step, step.in.operands[1 + step.in.call_returns + i], callee.prototype.params[i]));
  }
  step.CallFunction(callee);
  for (uint32_t i = 0; i < arguments.size(); ++i)
    PutInto(step.thread, step.thread.frame(), callee.first_param + i, arguments[i]);
}

void Return(Step& step) {
  step.Accept({Modifier::kUni});
  Frame& frame = step.thread.frame();
  const ptx::Function& function = *frame.function;
  std::vector<std::vector<uint8_t>> results;
  if (frame.call != nullptr) {
    for (uint32_t i = 0; i < frame.call->call_returns; ++i) {
      const ptx::LocalVariable& variable = function.locals[function.first_return + i];
      std::vector<uint8_t> bytes(variable.bytes());
      if (variable.space == StateSpace::kReg)
        std::memcpy(bytes.data(), &frame.registers[variable.register_id], std::min(bytes.size(), sizeof(Bits)));
      else
        std::memcpy(bytes.data(), PlaceOf(step.thread, frame, function.first_return + i), bytes.size());
      results.push_back(std::move(bytes));
    }
  }
  const ptx::Instruction* call = frame.call;
  step.ReturnFrom();
  for (size_t i = 0; i < results.size(); ++i) {
    const Operand& to = call->operands[1 + i];
    if (to.kind == OperandKind::kLocal) {
      PutInto(step.thread, step.thread.frame(), to.index, results[i]);
    } else {
      Bits value = 0;
      std::memcpy(&value, results[i].data(), std::min(results[i].size(), sizeof value));
      step.PutWide(to, value);
    }
  }
}

void Exit(Step& step) { step.thread.exited = true; }

void Trap(Step& step) { step.Fault(cuda::CUDA_ERROR_LAUNCH_FAILED, "trap"); }

// Its address must be a multimem address; there is none.
void Multimem(Step& step) { step.Fault(cuda::CUDA_ERROR_INVALID_ADDRESS_SPACE, "no multimem address"); }

// alloca d, size, alignment; stacksave d; stackrestore a: the top of the thread's local memory.
void Stack(Step& step) {
  std::vector<uint8_t>& local = step.thread.local;
  switch (step.in.opcode) {
    case ptx::Opcode::kStacksave: return step.Put(0, step.type(), local.size());
    case ptx::Opcode::kStackrestore: {
      const uint64_t top = step.Get(0, step.type());
      if (top > local.size() || top < step.thread.frame().stack_begin)
        return step.Fault(cuda::CUDA_ERROR_HARDWARE_STACK_ERROR, "a stack restored to a wild place");
      return local.resize(top);
    }
    default: break;
  }
  const uint64_t bytes = step.Get(1, step.type()),
                 alignment = step.count() > 2 ? std::max<uint64_t>(step.Get(2, Type::kU32), 8) : 8;
  const uint64_t begin = (local.size() + alignment - 1) / alignment * alignment;
  if (bytes > kMostTaken || begin + bytes > kMostTaken)
    return step.Fault(cuda::CUDA_ERROR_HARDWARE_STACK_ERROR, "stack overflow");
  local.resize(begin + bytes, 0xdb);
  step.Put(0, step.type(), begin);
}

// Hints, waits and orders: no-ops where threads take turns.
void Nothing(Step& step) {
  for (const Modifier modifier : step.in.modifiers) step.Has(modifier);
}

}  // namespace tutti::interpreter
