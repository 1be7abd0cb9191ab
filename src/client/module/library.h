// Libraries and kernels: code that belongs to no context. A library becomes a module in each context that uses it, when
// it is first used there.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/base/answer.h"
#include "client/base/pool.h"
#include "client/module/function.h"
#include "client/module/image.h"
#include "client/module/jit_options.h"
#include "client/module/module.h"
#include "cuda/types.h"

namespace tutti::client {

class Context;
class Kernel;
class Library;

// Thread-safe.
class Kernel {
 public:
  Kernel(Library& library, std::string name) : library_(library), name_(std::move(name)) {}

  static Kernel* Find(const void* handle) { return pool_.Find(handle); }
  static Kernel* Create(Library& library, std::string name) { return pool_.Create(library, std::move(name)); }
  static void Delete(Kernel* kernel);

  cuda::CUkernel handle() { return reinterpret_cast<cuda::CUkernel>(this); }
  Library& library() const { return library_; }
  const std::string& name() const { return name_; }

  // Its function in a context. Repeating the last lookup takes no lock.
  Answer<Function*> In(Context& context) {
    Function* last = Function::Find(last_.load(std::memory_order_acquire));
    const bool same = last != nullptr && last->serial() == last_serial_.load(std::memory_order_acquire);
    if (same && &last->context() == &context) return last;
    return Resolve(context);
  }

 private:
  Answer<Function*> Resolve(Context& context);

  static constinit Pool<Kernel, 1 << 20> pool_;

  Library& library_;
  const std::string name_;
  // The serial detects that the pool slot holds another function by now.
  std::atomic<Function*> last_{nullptr};
  std::atomic<uint64_t> last_serial_{0};
};

// Thread-safe.
class Library {
 public:
  // `parts` must stay valid unless `keep` owns them. `where` is the program's pointer; it is not read.
  Library(ImageParts parts, std::vector<uint8_t> keep, const void* where)
      : keep_(std::move(keep)), parts_(std::move(parts)), where_(where) {}
  ~Library();

  static Library* Find(const void* handle) { return pool_.Find(handle); }
  // `preserved`: the program keeps the image as long as the library; else it is copied.
  static Answer<Library*> Load(const void* image, bool preserved);
  static int Unload(Library* library);

  cuda::CUlibrary handle() { return reinterpret_cast<cuda::CUlibrary>(this); }
  // Its module in a context.
  Answer<Module*> In(Context& context);
  // NOT_FOUND if there is none of that name. The kernels do not depend on the context: if no module is loaded, the
  // server is asked without one.
  Answer<Kernel*> FindKernel(std::string_view name);
  Answer<std::vector<Kernel*>> Kernels();
  // Its module in the current context; without a current context, any module of it. If there is none, loads one into
  // the primary context of the first device and retains that context until the library is unloaded, so that the
  // addresses of its variables stay valid.
  Answer<Module*> AnyModule();

 private:
  struct Instance {
    uint64_t context_id;
    uint64_t serial;
    Module* module;

    // Null if it has ended with its context.
    Module* Find() const {
      Module* found = Module::Find(module);
      return found != nullptr && found->serial() == serial ? found : nullptr;
    }
  };
  // The following with the lock held.
  Answer<Module*> ModuleAtHand();  // null if there is none
  Answer<const std::vector<std::string>*> Names();
  // The kernel object of that name, created on first use.
  Kernel* KernelOf(const std::string& name);

  static constinit Pool<Library, 1 << 17> pool_;

  const std::vector<uint8_t> keep_;
  const ImageParts parts_;
  const void* const where_;
  std::recursive_mutex mutex_;
  std::vector<Instance> instances_;
  std::map<std::string, Kernel*, std::less<>> kernels_;
  std::optional<std::vector<std::string>> names_;  // of its kernels, in their order
  Context* held_ = nullptr;
};

}  // namespace tutti::client
