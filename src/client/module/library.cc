#include "client/module/library.h"

#include <algorithm>

#include "client/context/context.h"
#include "client/context/current.h"
#include "client/context/device.h"
#include "client/session/renewal.h"

namespace tutti::client {

constinit Pool<Kernel, 1 << 20> Kernel::pool_;
constinit Pool<Library, 1 << 17> Library::pool_;

void Kernel::Delete(Kernel* kernel) {
  if (pool_.Retire(kernel)) pool_.Delete(kernel);
}

Answer<Function*> Kernel::Resolve(Context& context) {
  CU_ASSIGN_OR_REFUSE(Module* const module, library_.In(context));
  Function* function = module->FindFunction(name_);
  if (function == nullptr) return Refuse(cuda::CUDA_ERROR_NOT_FOUND);
  last_serial_.store(function->serial(), std::memory_order_release);
  last_.store(function, std::memory_order_release);
  return function;
}

Library::~Library() {
  for (auto& [name, kernel] : kernels_) Kernel::Delete(kernel);
  for (const Instance& instance : instances_) {
    if (Module* module = instance.Find()) Module::Unload(module);
  }
  if (held_ != nullptr) held_->Release();
}

Answer<Library*> Library::Load(const void* image, bool preserved) {
  CU_ASSIGN_OR_REFUSE(ImageParts parts, FindImage(image));
  std::vector<uint8_t> keep;
  if (!preserved) {
    keep = JoinParts(parts);
    parts = {std::span<const uint8_t>(keep)};
  }
  Library* library = pool_.Create(std::move(parts), std::move(keep), image);
  if (library == nullptr) return Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
  return library;
}

int Library::Unload(Library* library) {
  if (!pool_.Retire(library)) return cuda::CUDA_ERROR_INVALID_HANDLE;
  pool_.Delete(library);
  return cuda::CUDA_SUCCESS;
}

Answer<Module*> Library::In(Context& current) {
  Context& context = current.owner();
  std::lock_guard lock(mutex_);
  for (const Instance& instance : instances_) {
    if (instance.context_id == context.id() && instance.Find() != nullptr) return instance.module;
  }
  std::erase_if(instances_, [](const Instance& i) { return i.Find() == nullptr; });
  if (const int status = context.Check(); status != 0) return Refuse(status);
  const std::vector<uint8_t> image = JoinParts(parts_);
  CU_ASSIGN_OR_REFUSE(Module* const module, Module::Load(context, image, {}, where_));
  instances_.push_back({context.id(), module->serial(), module});
  return module;
}

Answer<Module*> Library::ModuleAtHand() {
  if (auto current = UsableContext()) return In(**current);
  for (const Instance& instance : instances_) {
    if (Module* module = instance.Find()) return module;
  }
  return nullptr;
}

Answer<Module*> Library::AnyModule() {
  std::lock_guard lock(mutex_);
  CU_ASSIGN_OR_REFUSE(Module* const at_hand, ModuleAtHand());
  if (at_hand != nullptr) return at_hand;
  Context& primary = Device::Find(0)->primary();
  if (held_ == nullptr) {
    CU_TRY_OR_REFUSE(primary.Retain());
    held_ = &primary;
  }
  return In(primary);
}

Answer<const std::vector<std::string>*> Library::Names() {
  if (names_) return &*names_;
  CU_ASSIGN_OR_REFUSE(const Module* const module, ModuleAtHand());
  if (module != nullptr) {
    names_.emplace();
    for (const module::KernelInfo& info : module->info().kernels) names_->push_back(info.name);
    return &*names_;
  }
  // Like a context: attaches again after the server's end.
  CU_TRY_OR_REFUSE(Renewal::Get().Begin());
  auto names = Module::KernelNames(*Device::Find(0), JoinParts(parts_), where_);
  Renewal::Get().Ended();
  if (!names) return Refuse(names.error());
  names_ = std::move(*names);
  return &*names_;
}

Kernel* Library::KernelOf(const std::string& name) {
  auto& kernel = kernels_[name];
  if (kernel == nullptr) kernel = Kernel::Create(*this, name);
  return kernel;
}

Answer<Kernel*> Library::FindKernel(std::string_view name) {
  std::lock_guard lock(mutex_);
  if (const auto it = kernels_.find(name); it != kernels_.end() && it->second != nullptr) return it->second;
  CU_ASSIGN_OR_REFUSE(const auto* const names, Names());
  if (std::ranges::find(*names, name) == names->end()) return Refuse(cuda::CUDA_ERROR_NOT_FOUND);
  Kernel* kernel = KernelOf(std::string(name));
  if (kernel == nullptr) return Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
  return kernel;
}

Answer<std::vector<Kernel*>> Library::Kernels() {
  std::lock_guard lock(mutex_);
  CU_ASSIGN_OR_REFUSE(const auto* const names, Names());
  std::vector<Kernel*> kernels;
  for (const std::string& name : *names) kernels.push_back(KernelOf(name));
  return kernels;
}

}  // namespace tutti::client
