// A module that is loaded onto a device, as its client knows it: names, sizes and addresses, whatever made the code.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace tutti::module {

struct ParameterInfo {
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

struct KernelInfo {
  std::string name;
  std::vector<ParameterInfo> params;  // in the order of the declaration, in a buffer of `param_bytes`
  uint32_t param_bytes = 0;
  uint32_t static_shared_bytes = 0;
  uint32_t local_bytes = 0;         // of a thread; what cuFuncGetAttribute reports
  uint32_t registers = 0;           // of a thread; an estimate where the code's are not known
  uint32_t max_threads = 1024;      // .maxntid / .reqntid product, or 1024
  uint32_t required_block[3] = {0, 0, 0};  // .reqntid
  uint32_t required_cluster[3] = {0, 0, 0};  // .reqnctapercluster
  uint32_t max_cluster = 0;         // .maxclusterrank: blocks; 0: not given
  bool cluster_must_be_set = false;  // .explicitcluster
  bool may_launch_graphs = false;   // its module calls cudaGraphLaunch, on a device where that is possible
  uint32_t const_bytes = 0;
  uint32_t ptx_version = 0;         // the virtual architecture: 80 for compute_80 (CU_FUNC_ATTRIBUTE_PTX_VERSION)
  uint32_t binary_version = 0;      // the real one (CU_FUNC_ATTRIBUTE_BINARY_VERSION); 0: the device's
  std::string error;                // not empty: this kernel cannot be compiled, and why
};

// Whether a variable is a texture or surface reference: a description (guest/texture.h) that the program fills in.
enum class Reference : uint8_t { kNone = 0, kTexture = 1, kSurface = 2, kSampler = 3 };

struct VariableInfo {
  std::string name;
  uint64_t address = 0;  // in the client's window
  uint64_t bytes = 0;
  bool is_managed = false;
  Reference reference = Reference::kNone;
};

// Addresses in the client's window.
struct MemoryRange {
  uint64_t address = 0;
  uint64_t bytes = 0;
};

struct ModuleInfo {
  std::vector<KernelInfo> kernels;  // by their numbers
  std::vector<VariableInfo> variables;
  std::vector<MemoryRange> memory;  // that the module takes in the window: each variable lies in one
};

void Put(ByteWriter& out, const KernelInfo& kernel);
KernelInfo GetKernel(ByteReader& in);
// Each parameter lies in the kernel's buffer.
Status Check(const KernelInfo& kernel);

std::vector<uint8_t> Serialize(const ModuleInfo& info);
Result<ModuleInfo> ParseModuleInfo(std::span<const uint8_t> bytes);

}  // namespace tutti::module
