#include "compiler/lower/kernel_layout.h"

#include <algorithm>

#include "base/checked.h"
#include "cuda/result.h"
#include "fmt/format.h"

namespace tutti::compiler::lowering {
namespace {

constexpr uint64_t kMaxParamBytes = 32764;        // what CUDA allows from 12.1 on
constexpr uint64_t kMaxSharedBytes = 227 * 1024;  // the most that any GPU gives a block
constexpr uint64_t kMaxLocalBytes = 512 * 1024;   // likewise, per thread
constexpr uint32_t kRegisterFile = 65536;         // 32-bit registers of an SM

// Bump allocator of aligned space, with a limit.
class Bump {
 public:
  explicit Bump(uint64_t limit) : limit_(limit) {}
  std::optional<uint32_t> Take(uint64_t bytes, uint64_t alignment) {
    alignment = std::max<uint64_t>(alignment, 1);
    if (alignment > limit_ || (alignment & (alignment - 1)) != 0) return std::nullopt;
    const uint64_t offset = AlignUp<uint64_t>(end_, alignment);
    if (!InRange<uint64_t>(offset, bytes, limit_)) return std::nullopt;
    end_ = offset + bytes;
    return static_cast<uint32_t>(offset);
  }
  uint32_t end() const { return static_cast<uint32_t>(end_); }

 private:
  uint64_t limit_;
  uint64_t end_ = 0;
};

// What cuFuncGetAttribute reports. There is no register file; programs compute occupancy from this number, so it must
// let a block of the declared size run, and should grow with the kernel.
uint32_t EstimateRegisters(const ptx::Function& function, uint32_t max_threads) {
  uint64_t words = 0;
  for (const ptx::Register& reg : function.registers)
    words += reg.type == ptx::Type::kPred ? 0 : (ptx::BitsOf(reg.type) + 31) / 32;
  const uint64_t fits = std::min<uint64_t>(255, kRegisterFile / std::max(max_threads, 1u));
  uint64_t estimate = std::min<uint64_t>(16 + words / 4, fits);
  if (function.max_registers != 0) estimate = std::min<uint64_t>(estimate, function.max_registers);
  return static_cast<uint32_t>(estimate);
}

// The virtual architecture that the PTX targets: 80 for "sm_80", 90 for "sm_90a". CUDA calls it the "PTX version", and
// libraries choose by it how to launch a kernel compiled for several; it is not the version of the language.
uint32_t Architecture(std::string_view target) {
  uint32_t number = 0;
  for (const char c : target.substr(std::min<size_t>(target.find('_'), target.size()))) {
    if (c == '_') continue;
    if (c < '0' || c > '9' || number > 999) break;
    number = 10 * number + static_cast<uint32_t>(c - '0');
  }
  return number;
}

uint64_t Product(const std::array<uint32_t, 3>& shape) {
  return uint64_t{shape[0]} * std::max(shape[1], 1u) * std::max(shape[2], 1u);
}

}  // namespace

module::KernelInfo DescribeKernel(const ptx::Module& module, uint32_t function_index) {
  const ptx::Function& function = module.functions[function_index];
  module::KernelInfo info;
  info.name = function.name;
  info.ptx_version = Architecture(module.target);
  info.error = function.error;
  if (info.error.empty() && !function.has_body) info.error = "the kernel is declared but not defined";
  Bump params(kMaxParamBytes);
  for (const ptx::LocalVariable& param : function.prototype.params) {
    const auto offset = params.Take(param.bytes(), param.alignment);
    if (!offset) {
      if (info.error.empty()) info.error = fmt::format("more than {} bytes of parameters", kMaxParamBytes);
      break;
    }
    info.params.push_back({*offset, static_cast<uint32_t>(param.bytes())});
  }
  info.param_bytes = params.end();
  uint64_t threads = 1024;
  if (function.max_threads[0] != 0) threads = std::min(threads, Product(function.max_threads));
  if (function.required_threads[0] != 0) {
    threads = std::min(threads, Product(function.required_threads));
    for (int d = 0; d < 3; ++d) info.required_block[d] = std::max(function.required_threads[d], 1u);
  }
  if (function.required_cluster[0] != 0) {
    for (int d = 0; d < 3; ++d) info.required_cluster[d] = std::max(function.required_cluster[d], 1u);
  }
  info.max_cluster = function.max_cluster;
  info.cluster_must_be_set = function.explicit_cluster;
  info.max_threads = static_cast<uint32_t>(std::max<uint64_t>(threads, 1));
  info.registers = EstimateRegisters(function, info.max_threads);
  return info;
}

Result<KernelLayout> LayOutKernel(const ptx::Module& module, const CallGraph& calls, uint32_t kernel) {
  const module::KernelInfo info = DescribeKernel(module, kernel);
  if (!info.error.empty()) return Fail(cuda::CUDA_ERROR_INVALID_PTX, info.error);
  KernelLayout layout;
  layout.functions = calls.Reach(kernel);
  for (const module::ParameterInfo& param : info.params) layout.params.push_back(param.offset);
  layout.param_bytes = info.param_bytes;
  Bump shared(kMaxSharedBytes), local(kMaxLocalBytes);
  const auto too_much = [&](const char* what, const std::string& name, uint64_t limit) {
    return Fail(cuda::CUDA_ERROR_INVALID_PTX, fmt::format("{} {}: more than {} bytes", what, name, limit));
  };
  uint32_t dynamic_alignment = 1;
  for (const uint32_t f : layout.functions) {
    const ptx::Function& function = module.functions[f];
    if (!function.error.empty()) {
      return Fail(cuda::CUDA_ERROR_INVALID_PTX, fmt::format("function {}: {}", function.name, function.error));
    }
    if (function.has_body && !function.body_parsed) {
      return Fail(cuda::CUDA_ERROR_INVALID_PTX, fmt::format("function {} was left out by the parser", function.name));
    }
    for (const uint32_t v : calls.variables(f)) {
      const ptx::Variable& variable = module.variables[v];
      if (variable.space != ptx::StateSpace::kShared || layout.module_shared.contains(v)) continue;
      if (variable.count == 0) {  // unsized: all of these start where dynamic shared memory does
        layout.uses_dynamic_shared = true;
        dynamic_alignment = std::max(dynamic_alignment, variable.alignment);
        continue;
      }
      const auto offset = shared.Take(variable.bytes(), variable.alignment);
      if (!offset) return too_much("shared variable", variable.name, kMaxSharedBytes);
      layout.module_shared[v] = *offset;
    }
    for (uint32_t l = 0; l < function.locals.size(); ++l) {
      const ptx::LocalVariable& variable = function.locals[l];
      if (variable.space == ptx::StateSpace::kLocal && !local.Take(variable.bytes(), variable.alignment)) {
        return too_much("local variable", variable.name, kMaxLocalBytes);
      }
      if (variable.space != ptx::StateSpace::kShared) continue;
      const auto offset = shared.Take(variable.bytes(), variable.alignment);
      if (!offset) return too_much("shared variable", variable.name, kMaxSharedBytes);
      layout.local_shared[uint64_t{f} << 32 | l] = *offset;
    }
  }
  // Dynamic shared memory begins at the next 16 bytes; if a declaration asks for more, so must the end of the static
  // part.
  if (layout.uses_dynamic_shared && !shared.Take(0, dynamic_alignment)) {
    return Fail(cuda::CUDA_ERROR_INVALID_PTX,
                fmt::format("dynamic shared memory aligned to {} bytes", dynamic_alignment));
  }
  layout.shared_bytes = shared.end();
  layout.local_bytes = local.end();
  return layout;
}

}  // namespace tutti::compiler::lowering
