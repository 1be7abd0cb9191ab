#include "module/module_index.h"

#include <algorithm>

#include "base/checked.h"

namespace tutti::module {
namespace {

constexpr uint32_t kIndexMagic = 0x32584449;  // "IDX2"

// What an index from the cache must satisfy before its numbers are used as offsets.
Status Check(const ModuleIndex& index) {
  if (index.image.size() > index.segment_bytes) return Fail("module index: image larger than its segment");
  for (const SegmentVariable& variable : index.variables) {
    if (variable.bytes > index.segment_bytes || variable.offset > index.segment_bytes - variable.bytes) {
      return Fail("module index: variable " + variable.name + " lies outside the segment");
    }
  }
  for (const Relocation& relocation : index.relocations) {
    if (index.segment_bytes < 8 || relocation.offset > index.segment_bytes - 8)
      return Fail("module index: relocation outside the segment");
  }
  for (const CompiledKernel& kernel : index.kernels) TUTTI_TRY(Check(kernel));
  return {};
}

}  // namespace

uint64_t ConstantBytes(const ModuleIndex& index) {
  uint64_t end = 0;
  for (const SegmentVariable& variable : index.variables) {
    if (variable.is_const) end = std::max(end, variable.offset + variable.bytes);
  }
  end = AlignUp(end, kSegmentPageBytes);
  const bool writable =
      std::any_of(index.variables.begin(), index.variables.end(),
                  [end](const SegmentVariable& variable) { return !variable.is_const && variable.offset < end; });
  return writable || end > index.segment_bytes ? 0 : end;
}

ModuleInfo Describe(const ModuleIndex& index, const SegmentAddresses& addresses) {
  ModuleInfo info{.kernels = {index.kernels.begin(), index.kernels.end()}};
  for (const SegmentVariable& variable : index.variables) {
    info.variables.push_back({.name = variable.name,
                              .address = addresses.Of(variable.offset),
                              .bytes = variable.bytes,
                              .is_managed = variable.is_managed,
                              .reference = variable.reference});
  }
  if (index.segment_bytes != 0) info.memory.push_back({addresses.segment, index.segment_bytes});
  if (addresses.constant_bytes != 0) info.memory.push_back({addresses.constants, addresses.constant_bytes});
  return info;
}

std::vector<uint8_t> Serialize(const ModuleIndex& index) {
  ByteWriter out;
  out.Put(kIndexMagic);
  out.Put(static_cast<uint32_t>(index.kernels.size()));
  for (const CompiledKernel& kernel : index.kernels) {
    Put(out, kernel);
    out.Put(static_cast<uint8_t>(kernel.uses_dynamic_shared));
  }
  out.Put(static_cast<uint32_t>(index.variables.size()));
  for (const SegmentVariable& variable : index.variables) {
    out.PutString(variable.name);
    out.Put(variable.offset);
    out.Put(variable.bytes);
    out.Put(static_cast<uint8_t>(variable.is_const));
    out.Put(static_cast<uint8_t>(variable.is_managed));
    out.Put(variable.reference);
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
  for (uint32_t i = 0; i < kernels && in.ok(); ++i) {
    CompiledKernel kernel{GetKernel(in)};
    kernel.uses_dynamic_shared = in.Get<uint8_t>() != 0;
    index.kernels.push_back(std::move(kernel));
  }
  const uint32_t variables = in.GetCount(23);
  for (uint32_t i = 0; i < variables && in.ok(); ++i) {
    SegmentVariable variable;
    variable.name = in.GetString();
    variable.offset = in.Get<uint64_t>();
    variable.bytes = in.Get<uint64_t>();
    variable.is_const = in.Get<uint8_t>() != 0;
    variable.is_managed = in.Get<uint8_t>() != 0;
    variable.reference = in.Get<Reference>();
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
