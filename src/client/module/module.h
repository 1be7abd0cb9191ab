// A module: code loaded onto one device, in one context, with its own copy of its variables.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/base/answer.h"
#include "client/base/pool.h"
#include "client/module/jit_options.h"
#include "cuda/types.h"
#include "module/module_info.h"

namespace tutti::client {

class Context;
class Device;
class Function;

// Immutable once loaded, so thread-safe.
class Module {
 public:
  Module(Context& context, uint32_t id, module::ModuleInfo info);
  ~Module();

  static Module* Find(const void* handle) { return pool_.Find(handle); }
  // Loads `image` (from JoinParts) into the context. The compiler's messages go to `options`. `where`: its address in
  // the program, used only to name the file it comes from.
  static Answer<Module*> Load(Context& context, std::span<const uint8_t> image, const JitOptions& options,
                              const void* where = nullptr);
  // The names of the kernels in an image, in order. Loads it onto the device and unloads it at once. Needs no context.
  static Answer<std::vector<std::string>> KernelNames(const Device& device, std::span<const uint8_t> image,
                                                      const void* where);
  // Unloads a module that the program loaded, deferred until the work submitted so far is done.
  static int Unload(Module* module);
  // The same for a module that a context or library ends; true if it still existed.
  static bool Delete(Module* module);

  cuda::CUmodule handle() { return reinterpret_cast<cuda::CUmodule>(this); }
  Context& context() const { return context_; }
  // The server's number for it.
  uint32_t id() const { return id_; }
  // Never reused: distinguishes a module from an earlier one at the same address.
  uint64_t serial() const { return serial_; }
  const module::ModuleInfo& info() const { return info_; }
  std::span<Function* const> functions() const { return functions_; }
  // Null if there is none of that name.
  Function* FindFunction(std::string_view name) const;
  const module::VariableInfo* FindVariable(std::string_view name) const;

 private:
  static constinit Pool<Module, 1 << 17> pool_;

  Context& context_;
  const uint32_t id_;
  const uint64_t serial_;
  const module::ModuleInfo info_;
  std::vector<Function*> functions_;  // as info_.kernels
  std::map<std::string_view, Function*> functions_by_name_;
  std::map<std::string_view, const module::VariableInfo*> variables_;
};

}  // namespace tutti::client
