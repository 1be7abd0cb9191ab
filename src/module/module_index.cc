#include "module/module_index.h"

#include <algorithm>

#include "base/checked.h"

namespace tutti::module {
namespace {

constexpr uint32_t kIndexMagic = 0x58444e49;  // "INDX"

void Put(ByteWriter& out, const KernelInfo& kernel) {
  out.PutString(kernel.name);
  out.Put(kernel.function_index);
  out.Put(static_cast<uint32_t>(kernel.params.size()));
  for (const ParameterInfo& param : kernel.params) out.Put(param);
  out.Put(kernel.param_bytes);
  out.Put(kernel.static_shared_bytes);
  out.Put(kernel.local_bytes);
  out.Put(kernel.registers);
  out.Put(kernel.max_threads);
  for (const uint32_t extent : kernel.required_block) out.Put(extent);
  out.Put(kernel.const_bytes);
  out.Put(kernel.ptx_version);
  out.Put(static_cast<uint8_t>(kernel.uses_dynamic_shared));
  out.PutString(kernel.error);
}

KernelInfo GetKernel(ByteReader& in) {
  KernelInfo kernel;
  kernel.name = in.GetString();
  kernel.function_index = in.Get<uint32_t>();
  const uint32_t params = in.GetCount(sizeof(ParameterInfo));
  for (uint32_t i = 0; i < params; ++i) kernel.params.push_back(in.Get<ParameterInfo>());
  kernel.param_bytes = in.Get<uint32_t>();
  kernel.static_shared_bytes = in.Get<uint32_t>();
  kernel.local_bytes = in.Get<uint32_t>();
  kernel.registers = in.Get<uint32_t>();
  kernel.max_threads = in.Get<uint32_t>();
  for (uint32_t& extent : kernel.required_block) extent = in.Get<uint32_t>();
  kernel.const_bytes = in.Get<uint32_t>();
  kernel.ptx_version = in.Get<uint32_t>();
  kernel.uses_dynamic_shared = in.Get<uint8_t>() != 0;
  kernel.error = in.GetString();
  return kernel;
}

// What an index from the cache must satisfy before its numbers are used as offsets.
Status Check(const ModuleIndex& index) {
  if (index.image.size() > index.segment_bytes) return Fail("module index: image larger than its segment");
  for (const VariableInfo& variable : index.variables) {
    if (variable.bytes > index.segment_bytes || variable.offset > index.segment_bytes - variable.bytes) {
      return Fail("module index: variable " + variable.name + " lies outside the segment");
    }
  }
  for (const Relocation& relocation : index.relocations) {
    if (index.segment_bytes < 8 || relocation.offset > index.segment_bytes - 8)
      return Fail("module index: relocation outside the segment");
  }
  for (const KernelInfo& kernel : index.kernels) {
    for (const ParameterInfo& param : kernel.params) {
      if (param.bytes > kernel.param_bytes || param.offset > kernel.param_bytes - param.bytes) {
        return Fail("module index: parameter of " + kernel.name + " lies outside its buffer");
      }
    }
  }
  return {};
}

}  // namespace

uint64_t ConstantBytes(const ModuleIndex& index) {
  uint64_t end = 0;
  for (const VariableInfo& variable : index.variables) {
    if (variable.is_const) end = std::max(end, variable.offset + variable.bytes);
  }
  end = AlignUp(end, kSegmentPageBytes);
  const bool writable =
      std::any_of(index.variables.begin(), index.variables.end(),
                  [end](const VariableInfo& variable) { return !variable.is_const && variable.offset < end; });
  return writable || end > index.segment_bytes ? 0 : end;
}

std::vector<uint8_t> Serialize(const ModuleIndex& index) {
  ByteWriter out;
  out.Put(kIndexMagic);
  out.Put(static_cast<uint32_t>(index.kernels.size()));
  for (const KernelInfo& kernel : index.kernels) Put(out, kernel);
  out.Put(static_cast<uint32_t>(index.variables.size()));
  for (const VariableInfo& variable : index.variables) {
    out.PutString(variable.name);
    out.Put(variable.offset);
    out.Put(variable.bytes);
    out.Put(static_cast<uint8_t>(variable.is_const));
    out.Put(static_cast<uint8_t>(variable.is_managed));
  }
  out.Put(static_cast<uint32_t>(index.functions.size()));
  for (const std::string& name : index.functions) out.PutString(name);
  out.Put(static_cast<uint32_t>(index.relocations.size()));
  for (const Relocation& relocation : index.relocations) {
    out.Put(relocation.offset);
    out.Put(relocation.addend);
    out.Put(relocation.kind);
  }
  out.Put(index.segment_bytes);
  out.Put(index.segment_alignment);
  out.PutBytes(index.image);
  out.PutString(index.log);
  return out.Take();
}

Result<ModuleIndex> ParseModuleIndex(std::span<const uint8_t> bytes) {
  ByteReader in(bytes);
  ModuleIndex index;
  if (in.Get<uint32_t>() != kIndexMagic) return Fail("not a module index");
  const uint32_t kernels = in.GetCount(32);
  for (uint32_t i = 0; i < kernels && in.ok(); ++i) index.kernels.push_back(GetKernel(in));
  const uint32_t variables = in.GetCount(22);
  for (uint32_t i = 0; i < variables && in.ok(); ++i) {
    VariableInfo variable;
    variable.name = in.GetString();
    variable.offset = in.Get<uint64_t>();
    variable.bytes = in.Get<uint64_t>();
    variable.is_const = in.Get<uint8_t>() != 0;
    variable.is_managed = in.Get<uint8_t>() != 0;
    index.variables.push_back(std::move(variable));
  }
  const uint32_t functions = in.GetCount(4);
  for (uint32_t i = 0; i < functions && in.ok(); ++i) index.functions.push_back(in.GetString());
  const uint32_t relocations = in.GetCount(17);
  for (uint32_t i = 0; i < relocations && in.ok(); ++i) {
    Relocation relocation;
    relocation.offset = in.Get<uint64_t>();
    relocation.addend = in.Get<uint64_t>();
    relocation.kind = in.Get<Relocation::Kind>();
    index.relocations.push_back(relocation);
  }
  index.segment_bytes = in.Get<uint64_t>();
  index.segment_alignment = in.Get<uint64_t>();
  const auto image = in.GetBytes();
  index.image.assign(image.begin(), image.end());
  index.log = in.GetString();
  if (!in.ok()) return Fail("module index is cut short");
  TUTTI_TRY(Check(index));
  return index;
}

}  // namespace tutti::module
