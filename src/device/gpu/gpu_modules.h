// A Space's modules and kernels: what the executor has loaded, by numbers of ours. Thread-safe.
//
// Images are kept, as far as there is room, so that another executor can load them: at the same addresses, or not at
// all. What kernels may have left in the context beside the window (executor::ModuleState) ends with it, so a client
// whose modules do that is bound to its executor.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/compile/fence_store.h"
#include "device/device.h"
#include "device/gpu/current_executor.h"
#include "device/gpu/gpu_memory.h"
#include "device/gpu/jit.h"
#include "device/host_share.h"
#include "guest/gpu/fenced_ptx.h"

namespace tutti::device::gpu {

class GpuModules {
 public:
  // Descriptions are memory of the host's, which `host` counts. `fences`: modules are loaded fenced, for a device of
  // that capability (90 for 9.0); null: as they are. `group`: whose code a driver compiles by `jit`, with fences; "":
  // it compiles where it loads, since the client shares that with nobody.
  GpuModules(CurrentExecutor* executor, HostShare* host, FenceStore* fences, Jit* jit, std::string group,
             uint32_t capability)
      : executor_(executor),
        host_(host),
        fences_(fences),
        jit_(jit),
        group_(std::move(group)),
        capability_(capability) {}

  // What an executor says of a module's variables: no two may lie at one address. Those of no bytes are nowhere, and
  // left out. Sorts them.
  static Status CheckMemory(std::vector<module::MemoryRange>& memory);
  // That managed variables lie in so many bytes from address 0 on, which are no memory yet: these are left out.
  static Status TakeManaged(module::ModuleInfo& info, uint64_t bytes);

  // The image as it may run beside others' code, for those who have fences. May take seconds. Fails with the remedy
  // where that cannot be.
  using FencedImage = std::shared_ptr<const compiler::FencedImage>;
  Result<FencedImage> Fence(std::span<const uint8_t> image);
  // Of Fence: what the code is, no failure to do it.
  static bool CannotBeFenced(const Error& error);
  // Variables are counted in `memory`; that they are no more is told to it by whoever unloads or forgets the module.
  Result<Space::LoadedModule> Load(const compiler::FencedImage& image, GpuMemory& memory);
  // Nothing of it is fenced. For those who have fences: where they are alone (ExecutorLink::is_alone).
  Result<Space::LoadedModule> LoadAsItIs(std::span<const uint8_t> image, GpuMemory& memory);
  Result<PreparedKernel> Prepare(uint32_t module, uint32_t kernel);
  Result<uint32_t> BlocksPerSm(uint32_t module, uint32_t kernel, uint32_t block_threads, uint32_t dynamic_shared_bytes);
  struct Unloaded {
    uint32_t module = 0;
    uint64_t bytes = 0;
    uint64_t managed = 0;  // memory that the device holds for its managed variables; 0: none
  };
  // It cannot be found any more.
  Result<Unloaded> Unload(uint32_t module);
  // Has the executor unload it then. False: it waits for what others run there, and is to be asked again.
  bool UnloadFromExecutor(uint32_t module);

  // Nobody waits for modules any more: those that are being fenced fail.
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  // Where a fenced kernel says that its fault was.
  std::optional<std::string> FunctionOf(const guest::FenceFault& fault) const;

  // None is loaded any more: the executor is lost. What they took.
  struct Forgotten {
    uint64_t bytes = 0;
    std::vector<uint64_t> managed;  // memory
  };
  Forgotten Forget();

  // Loads in a new executor what the last one has, and what it has not been made to unload. Fails where it is not the
  // same there. With CurrentExecutor::Replacing.
  Status LoadInto(ExecutorLink& executor);
  // Why no other executor could have what this one has by them, now; nothing: it can. Does not wait.
  std::optional<std::string> WhyBound() const;

  struct Kernel {
    uint32_t module = 0;
    uint32_t number = 0;  // in it
    uint32_t param_bytes = 0;
  };
  bool are_fenced() const { return fences_ != nullptr; }
  // From now on what kernels may write may be written.
  std::optional<Kernel> FindToLaunch(uint32_t kernel);
  // Whether these bytes are a part of a module's variable. `writes`: which is to be written.
  bool HasVariable(uint64_t address, uint64_t bytes, bool writes);

 private:
  struct Image {
    os::Fd file;
    DescriptorPlace place;
    HostHold bytes;
  };
  // What a fence has said of a module's functions.
  struct Fenced {
    bool as_it_is = false;  // nothing: others have fenced modules
    uint64_t text_bytes = 0;  // of the image, before its machine code; 0: it has none
    std::vector<std::string> functions;  // by guest::FenceFault::function
    std::map<std::string, std::string> refused;  // of those that may not run, and why
    size_t bytes() const;
  };
  struct Module {
    std::vector<module::KernelInfo> kernels;
    std::vector<module::MemoryRange> memory;  // of its variables, at addresses of the driver's
    uint64_t bytes = 0;  // of all of its variables
    std::map<uint32_t, uint32_t> prepared;  // kernel -> its id
    HostHold described;
    std::shared_ptr<const Image> image;  // null: there was no room for it
    size_t described_as = 0;  // a hash of all that the executor has said of it
    uint64_t state = 0;  // ModuleState
    bool launched = false;  // some kernel of the client has been, since it was loaded
    bool written = false;  // a variable, by a copy or a fill
    Fenced fenced;
    uint64_t managed = 0;  // where its managed variables are; 0: it has none, or they are not placed yet
  };
  struct Variable {
    uint64_t bytes = 0;
    uint32_t module = 0;
  };
  // Has the executor load it. Described as a client may know it.
  struct Described {
    Space::LoadedModule module;
    uint64_t managed_bytes = 0;  // at address 0 of it
  };
  Result<Space::LoadedModule> Load(std::span<const uint8_t> image, const Fenced& fenced, GpuMemory& memory);
  // That the executor has loaded, and that is not the client's: what it takes counts as the client's until it is
  // unloaded.
  struct InVain {
    uint32_t module = 0;
    uint64_t bytes = 0;
  };
  Result<Described> LoadNow(std::span<const uint8_t> image, Fenced fenced, GpuMemory& memory,
                            std::optional<InVain>* in_vain);
  Status PlaceManaged(Described& loaded, GpuMemory& memory);
  void Withdraw(uint32_t module, GpuMemory& memory);
  bool AwaitUnload(uint32_t module);
  static uint64_t BytesOf(std::span<const module::MemoryRange> variables);
  std::shared_ptr<const Image> Keep(os::Fd file, uint64_t bytes, const GpuMemory& memory);

  CurrentExecutor* const executor_;
  HostShare* const host_;
  std::atomic<uint64_t> image_bytes_{0};  // that are kept
  FenceStore* const fences_;
  Jit* const jit_;
  const std::string group_;
  const uint32_t capability_;
  Cancelled cancelled_{false};
  std::mutex loading_;  // what is left for a module is that until it is counted; taken before mutex_
  mutable std::mutex mutex_;
  std::map<uint32_t, Module> modules_;
  std::map<uint32_t, Module> unloading_;  // that cannot be found any more, but are loaded
  std::map<uint32_t, Kernel> kernels_;  // by id
  std::map<uint64_t, Variable> variables_;  // of all modules, by address
  std::vector<uint32_t> fresh_;  // modules that may keep something, with no launch since
  bool has_heap_ = false;  // of the context: outlives the module
  uint32_t last_module_ = 0;
  uint32_t last_kernel_ = 0;
};

}  // namespace tutti::device::gpu
