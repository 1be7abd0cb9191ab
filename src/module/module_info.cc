#include "module/module_info.h"

#include <algorithm>

#include "base/checked.h"

namespace tutti::module {
namespace {

constexpr uint32_t kInfoMagic = 0x324e4649;  // "IFN2"

// A variable is inside of a range if, of those that begin at or before it, the one that reaches furthest reaches as
// far.
Status CheckVariables(const ModuleInfo& info) {
  std::vector<MemoryRange> memory = info.memory;
  for (const MemoryRange& range : memory) {
    if (range.bytes > ~uint64_t{0} - range.address) return Fail("module: memory beyond all addresses");
  }
  std::ranges::sort(memory, {}, &MemoryRange::address);
  std::vector<uint64_t> furthest;
  for (const MemoryRange& range : memory)
    furthest.push_back(std::max(furthest.empty() ? 0 : furthest.back(), range.address + range.bytes));
  for (const VariableInfo& variable : info.variables) {
    if (variable.bytes == 0) continue;
    const auto behind = std::ranges::upper_bound(memory, variable.address, {}, &MemoryRange::address);
    const uint64_t end = behind == memory.begin() ? 0 : furthest[static_cast<size_t>(behind - memory.begin()) - 1];
    if (end < variable.address || end - variable.address < variable.bytes)
      return Fail("module: variable " + variable.name + " lies outside of the module's memory");
  }
  return {};
}

}  // namespace

void Put(ByteWriter& out, const KernelInfo& kernel) {
  out.PutString(kernel.name);
  out.Put(static_cast<uint32_t>(kernel.params.size()));
  for (const ParameterInfo& param : kernel.params) out.Put(param);
  out.Put(kernel.param_bytes);
  out.Put(kernel.static_shared_bytes);
  out.Put(kernel.local_bytes);
  out.Put(kernel.registers);
  out.Put(kernel.max_threads);
  for (const uint32_t extent : kernel.required_block) out.Put(extent);
  for (const uint32_t extent : kernel.required_cluster) out.Put(extent);
  out.Put(kernel.max_cluster);
  out.Put(uint32_t{kernel.cluster_must_be_set});
  out.Put(uint32_t{kernel.may_launch_graphs});
  out.Put(kernel.const_bytes);
  out.Put(kernel.ptx_version);
  out.Put(kernel.binary_version);
  out.PutString(kernel.error);
}

KernelInfo GetKernel(ByteReader& in) {
  KernelInfo kernel;
  kernel.name = in.GetString();
  const uint32_t params = in.GetCount(sizeof(ParameterInfo));
  for (uint32_t i = 0; i < params; ++i) kernel.params.push_back(in.Get<ParameterInfo>());
  kernel.param_bytes = in.Get<uint32_t>();
  kernel.static_shared_bytes = in.Get<uint32_t>();
  kernel.local_bytes = in.Get<uint32_t>();
  kernel.registers = in.Get<uint32_t>();
  kernel.max_threads = in.Get<uint32_t>();
  for (uint32_t& extent : kernel.required_block) extent = in.Get<uint32_t>();
  for (uint32_t& extent : kernel.required_cluster) extent = in.Get<uint32_t>();
  kernel.max_cluster = in.Get<uint32_t>();
  kernel.cluster_must_be_set = in.Get<uint32_t>() != 0;
  kernel.may_launch_graphs = in.Get<uint32_t>() != 0;
  kernel.const_bytes = in.Get<uint32_t>();
  kernel.ptx_version = in.Get<uint32_t>();
  kernel.binary_version = in.Get<uint32_t>();
  kernel.error = in.GetString();
  return kernel;
}

Status Check(const KernelInfo& kernel) {
  for (const ParameterInfo& param : kernel.params) {
    if (!InRange(param.offset, param.bytes, kernel.param_bytes))
      return Fail("module: a parameter of " + kernel.name + " lies outside of its buffer");
  }
  return {};
}

std::vector<uint8_t> Serialize(const ModuleInfo& info) {
  ByteWriter out;
  out.Put(kInfoMagic);
  out.Put(static_cast<uint32_t>(info.kernels.size()));
  for (const KernelInfo& kernel : info.kernels) Put(out, kernel);
  out.Put(static_cast<uint32_t>(info.memory.size()));
  for (const MemoryRange& range : info.memory) out.Put(range);
  out.Put(static_cast<uint32_t>(info.variables.size()));
  for (const VariableInfo& variable : info.variables) {
    out.PutString(variable.name);
    out.Put(variable.address);
    out.Put(variable.bytes);
    out.Put(static_cast<uint8_t>(variable.is_managed));
    out.Put(variable.reference);
  }
  return out.Take();
}

Result<ModuleInfo> ParseModuleInfo(std::span<const uint8_t> bytes) {
  ByteReader in(bytes);
  ModuleInfo info;
  if (in.Get<uint32_t>() != kInfoMagic) return Fail("not what a loaded module is described by");
  const uint32_t kernels = in.GetCount(32);
  for (uint32_t i = 0; i < kernels && in.ok(); ++i) info.kernels.push_back(GetKernel(in));
  const uint32_t ranges = in.GetCount(sizeof(MemoryRange));
  for (uint32_t i = 0; i < ranges && in.ok(); ++i) info.memory.push_back(in.Get<MemoryRange>());
  const uint32_t variables = in.GetCount(22);
  for (uint32_t i = 0; i < variables && in.ok(); ++i) {
    VariableInfo variable;
    variable.name = in.GetString();
    variable.address = in.Get<uint64_t>();
    variable.bytes = in.Get<uint64_t>();
    variable.is_managed = in.Get<uint8_t>() != 0;
    variable.reference = in.Get<Reference>();
    info.variables.push_back(std::move(variable));
  }
  if (!in.ok()) return Fail("the description of a module is cut short");
  for (const KernelInfo& kernel : info.kernels) TUTTI_TRY(Check(kernel));
  TUTTI_TRY(CheckVariables(info));
  return info;
}

}  // namespace tutti::module
