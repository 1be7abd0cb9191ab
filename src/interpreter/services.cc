// Runtime functions that kernels call without defining them.
#include <cstdio>
#include <cstring>

#include "cuda/result.h"
#include "interpreter/families.h"

namespace tutti::interpreter {
namespace {

uint64_t Argument(Step& step, uint32_t index) {
  const Operand& operand = step.in.operands[1 + step.in.call_returns + index];
  if (operand.kind != OperandKind::kLocal) return step.Get(operand, Type::kU64);
  const Frame& frame = step.thread.frame();
  uint64_t value = 0;
  std::memcpy(&value, step.thread.local.data() + frame.locals[operand.index],
              std::min<size_t>(sizeof value, step.function().locals[operand.index].bytes()));
  return value;
}

void PutResult(Step& step, uint64_t value) {
  if (step.in.call_returns == 0) return;
  const Operand& operand = step.in.operands[1];
  if (operand.kind != OperandKind::kLocal) return step.PutWide(operand, value);
  std::memcpy(step.thread.local.data() + step.thread.frame().locals[operand.index], &value,
              std::min<size_t>(sizeof value, step.function().locals[operand.index].bytes()));
}

// One conversion of a format and its argument, which lies at the next place of its alignment.
std::string Formatted(Step& step, const std::string& conversion, uint64_t& arguments) {
  const char letter = conversion.back();
  const bool is_float = std::strchr("aAeEfFgG", letter) != nullptr, is_string = letter == 's',
             is_long = conversion.find('l') != std::string::npos;
  const uint64_t bytes = is_float || is_string || is_long || letter == 'p' ? 8 : 4;
  arguments = (arguments + bytes - 1) / bytes * bytes;
  const uint8_t* at = step.Locate(StateSpace::kGeneric, arguments, bytes, bytes);
  if (at == nullptr) return {};
  arguments += bytes;
  uint64_t value = 0;
  std::memcpy(&value, at, bytes);
  char text[512];
  double number;
  std::memcpy(&number, &value, sizeof number);
  if (is_float)
    std::snprintf(text, sizeof text, conversion.c_str(), number);
  else if (is_string)
    std::snprintf(text, sizeof text, conversion.c_str(), step.Text(value).c_str());
  else if (bytes == 8)
    std::snprintf(text, sizeof text, conversion.c_str(), value);
  else
    std::snprintf(text, sizeof text, conversion.c_str(), static_cast<uint32_t>(value));
  return text;
}

void Print(Step& step) {
  const std::string format = step.Text(Argument(step, 0));
  uint64_t arguments = Argument(step, 1);
  std::string text;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      text += format[i];
      continue;
    }
    const size_t end = format.find_first_of("%aAcdeEfFgGiopsuxX", i + 1);
    if (end == std::string::npos) break;
    text += format[end] == '%' ? "%" : Formatted(step, format.substr(i, end - i + 1), arguments);
    i = end;
  }
  step.outcome().output += text;
  PutResult(step, text.size());
}

}  // namespace

void CallService(Step& step, const std::string& name) {
  if (name == "vprintf") return Print(step);
  if (name == "__assertfail") return step.Fault(cuda::CUDA_ERROR_ASSERT, "assertion failed");
  if (name == "free") return;
  if (name == "cudaGraphSetConditional")
    return step.Fault(cuda::CUDA_ERROR_LAUNCH_FAILED, "cudaGraphSetConditional: there are no graphs here");
  if (name == "malloc") {
    step.heap().emplace_back(Argument(step, 0) + 16);
    step.machine.global().Map(step.heap().back());
    return PutResult(step, (reinterpret_cast<uint64_t>(step.heap().back().data()) + 15) / 16 * 16);
  }
  step.Refuse("a call of " + name);
}

}  // namespace tutti::interpreter
