#include "client/module/module.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "base/log.h"
#include "client/array/texture_reference.h"
#include "client/base/environment.h"
#include "client/context/context.h"
#include "client/memory/allocation_table.h"
#include "client/module/compile_wait.h"
#include "client/module/function.h"
#include "client/module/origin.h"
#include "client/session/attachment.h"
#include "cuda/device_attribute.h"
#include "ipc/message.h"
#include "os/memory.h"

namespace tutti::client {
namespace {

std::atomic<uint64_t> next_serial{1};
constexpr uint64_t kMostInfoBytes = 1ull << 30;

struct Loaded {
  wire::LoadModuleReply reply;
  module::ModuleInfo info;
};

Result<Loaded> AskServer(uint32_t device, std::span<const uint8_t> image) {
  const auto file = os::CreateMemoryOf("tutti-image", image);
  if (!file) return Fail(cuda::CUDA_ERROR_OPERATING_SYSTEM, file.error().text);
  ByteWriter body;
  wire::Put(body, wire::LoadModule{.device = device});
  const int fds[] = {file->get()};
  CompileWait wait("");
  TUTTI_ASSIGN(const ipc::Envelope answer,
               Attachment::Get().connection().Call(wire::MessageKind::kLoadModule, std::move(body), fds,
                                                   wire::MessageKind::kLoadModuleReply, [&wait] { wait.GoesOn(); }));
  ByteReader in(answer.body);
  Loaded loaded;
  TUTTI_ASSIGN(loaded.reply, wire::GetLoadModuleReply(in));
  if (loaded.reply.status != 0) return loaded;
  if (answer.fds.empty()) return Fail(cuda::CUDA_ERROR_MPS_RPC_FAILURE, "a loaded module came without its description");
  TUTTI_ASSIGN(const auto bytes, ipc::FromMemoryFile(answer.fds[0].get(), kMostInfoBytes));
  TUTTI_ASSIGN(loaded.info, module::ParseModuleInfo(bytes));
  return loaded;
}

// True for this file's first unusable image.
bool FirstOf(const std::string& origin) {
  static auto* const mutex = new std::mutex;
  static auto* const seen = new std::set<std::string>;
  std::lock_guard lock(*mutex);
  return seen->insert(origin).second;
}

// By the auditing library that `tutti run` sets (src/keep_ptx); the loader loads it before the program.
bool IsAudited() { return Environment("LD_AUDIT").find("libtutti-keep-ptx.so") != std::string::npos; }

// A program without JIT options has no other way to learn what is wrong with its code. Some libraries try hundreds of
// images without PTX; of each file only the first is logged.
void LogFailure(const Device& device, int status, const std::string& text, const void* where) {
  const std::string origin = OriginOf(where);
  const bool no_ptx = status == cuda::CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (no_ptx && !FirstOf(origin)) return;
  const int major = device.Attribute(cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  const std::string advice = no_ptx ? AdviceAboutPtx(origin, LoadedFiles(), IsAudited(), major) : "";
  log::Error("a module{}{} could not be loaded: {}{}{}", origin.empty() ? "" : " of ", origin,
             text.substr(0, text.find('\n')), advice.empty() ? "" : "; ", advice);
}

Answer<Loaded> LoadOn(const Device& device, std::span<const uint8_t> image, const JitOptions& options,
                      const void* where) {
  auto loaded = AskServer(device.index(), image);
  if (!loaded) {
    LogFailure(device, loaded.error().code, loaded.error().text, where);
    return Refuse(loaded.error().code != 0 ? loaded.error().code : cuda::CUDA_ERROR_UNKNOWN);
  }
  if (loaded->reply.status != 0) {
    options.WriteError(loaded->reply.log);
    LogFailure(device, loaded->reply.status, loaded->reply.log, where);
    return Refuse(loaded->reply.status);
  }
  options.WriteInfo(loaded->reply.log);
  options.WriteError("");
  return std::move(*loaded);
}

// A GPU's driver has a module's variables at addresses of its own. Those that cannot be used are not found.
void TakeForeignVariables(module::ModuleInfo* info, const void* where) {
  const Attachment& attachment = Attachment::Get();
  std::erase_if(info->variables, [&](const module::VariableInfo& variable) {
    if (attachment.InWindow(variable.address, variable.bytes)) return false;
    if (!variable.is_managed && ForeignMemory::Get().Take(variable.address, variable.bytes)) return false;
    const std::string origin = OriginOf(where);
    log::Error("the variable {}{}{} is not found: {}", variable.name, origin.empty() ? "" : " of ", origin,
               variable.is_managed ? "on a GPU managed variables need PTX (-gencode arch=compute_NN,code=compute_NN) "
                                     "of one translation unit, in which no initial value has their address; "
                                     "cudaMallocManaged works always"
                                   : "the GPU's driver has it where the program has other memory");
    return true;
  });
  std::erase_if(info->memory, [&](const module::MemoryRange& range) {
    return !attachment.InWindow(range.address, range.bytes) && !ForeignMemory::Holds(range.address);
  });
}

void GiveForeignVariables(const module::ModuleInfo& info) {
  for (const module::VariableInfo& variable : info.variables) {
    if (!Attachment::Get().InWindow(variable.address, variable.bytes))
      ForeignMemory::Get().Give(variable.address, variable.bytes);
  }
}

void Forget(uint32_t module) {
  Attachment::Get().ring().Submit(wire::RecordKind::kModuleUnload, 0, wire::ModuleUnloadBody{.module = module});
}

}  // namespace

constinit Pool<Module, 1 << 17> Module::pool_;

Module::Module(Context& context, uint32_t id, module::ModuleInfo info)
    : context_(context), id_(id), serial_(next_serial.fetch_add(1, std::memory_order_relaxed)), info_(std::move(info)) {
  for (uint32_t i = 0; i < info_.kernels.size(); ++i) {
    Function* function = Function::Create(*this, i);
    functions_.push_back(function);
    functions_by_name_.emplace(info_.kernels[i].name, function);
  }
  for (const module::VariableInfo& variable : info_.variables) variables_.emplace(variable.name, &variable);
  for (const module::MemoryRange& range : info_.memory) {
    AllocationTable::Get().Insert({.address = range.address,
                                   .bytes = range.bytes,
                                   .kind = AllocationKind::kModule,
                                   .context = &context,
                                   .device_address = range.address});
  }
}

Module::~Module() {
  for (Function* function : functions_) {
    if (function != nullptr) Function::Delete(function);
  }
  for (const module::MemoryRange& range : info_.memory) {
    TextureReference::Forget(range.address, range.bytes);
    AllocationTable::Get().Take(range.address, [](const Allocation& a) { return a.kind == AllocationKind::kModule; });
  }
  GiveForeignVariables(info_);
}

Answer<std::vector<std::string>> Module::KernelNames(const Device& device, std::span<const uint8_t> image,
                                                     const void* where) {
  CU_ASSIGN_OR_REFUSE(const Loaded loaded, LoadOn(device, image, {}, where));
  Forget(loaded.reply.module);
  std::vector<std::string> names;
  for (const module::KernelInfo& info : loaded.info.kernels) names.push_back(info.name);
  return names;
}

Answer<Module*> Module::Load(Context& current, std::span<const uint8_t> image, const JitOptions& options,
                             const void* where) {
  Context& context = current.owner();
  CU_ASSIGN_OR_REFUSE(Loaded loaded, LoadOn(context.device(), image, options, where));
  TakeForeignVariables(&loaded.info, where);
  ipc::ClientWindow& window = Attachment::Get().connection().window();
  const bool opened = std::ranges::all_of(loaded.info.memory, [&window](const module::MemoryRange& range) {
    return ForeignMemory::Holds(range.address) || window.Open(range.address, range.bytes);
  });
  if (const uint32_t most = options.MostRegisters(); most != 0) {
    for (module::KernelInfo& kernel : loaded.info.kernels) kernel.registers = std::min(kernel.registers, most);
  }
  const uint32_t id = loaded.reply.module;
  if (!opened) {
    GiveForeignVariables(loaded.info);
    Forget(id);
    return Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
  }
  Module* module = pool_.Create(context, id, std::move(loaded.info));
  if (module == nullptr) {
    Forget(id);
    return Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
  }
  context.Add(module);
  return module;
}

int Module::Unload(Module* module) {
  Context& context = module->context_;
  if (!Delete(module)) return cuda::CUDA_ERROR_INVALID_HANDLE;
  context.Remove(module);
  return cuda::CUDA_SUCCESS;
}

bool Module::Delete(Module* module) {
  if (!pool_.Retire(module)) return false;
  Forget(module->id_);
  pool_.Delete(module);
  return true;
}

Function* Module::FindFunction(std::string_view name) const {
  const auto it = functions_by_name_.find(name);
  return it == functions_by_name_.end() ? nullptr : it->second;
}

const module::VariableInfo* Module::FindVariable(std::string_view name) const {
  const auto it = variables_.find(name);
  return it == variables_.end() ? nullptr : it->second;
}

}  // namespace tutti::client
