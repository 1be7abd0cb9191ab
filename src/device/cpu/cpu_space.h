// A client's Space on the CPU device: ties together its memory, modules, streams and its shares of the devices'
// schedulers.
//
// One lock guards the streams; it is held for the submission or completion of a record, never while anything runs. Lock
// order: the Space's, then a scheduler's or the memory's. Reports go to the Sink under the Space's lock, so that a
// stream's completions are reported in order.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cuda/types.h"
#include "device/common/stream_order/stream_engine.h"
#include "device/common/window_arena.h"
#include "device/cpu/children/device_graph.h"
#include "device/cpu/children/helper_thread.h"
#include "device/cpu/children/parameter_buffers.h"
#include "device/cpu/condition_table.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/cpu_operation.h"
#include "device/cpu/memory/device_heap.h"
#include "device/cpu/memory/host_range.h"
#include "device/cpu/memory/window_memory.h"
#include "device/cpu/module_table.h"
#include "device/device.h"

namespace tutti::device::cpu {

class CpuSpace final : public Space, private StreamEngine::Owner {
 public:
  // `window` is closed (WindowExtent::Close).
  CpuSpace(Window window, const wire::WindowShape& shape, const Limits& limits, Sink* sink, std::string_view label,
           const std::vector<std::unique_ptr<CpuDevice>>& devices, MemoryAccount* host, uint64_t host_bytes,
           HugePageMaker* maker, uint32_t loaded_kernels, CodeSource* source);
  ~CpuSpace() override;

  const wire::WindowShape& window() const override { return shape_; }
  uint64_t window_base() const override { return window_.base(); }
  int window_fd() const override { return window_.fd(); }
  uint8_t* Reached(uint64_t address, uint64_t bytes) override {
    return window_.Reached(address, bytes, shape_.unreached_begin());
  }
  Result<uint64_t> Allocate(uint32_t device, wire::MemoryKind kind, uint64_t bytes, uint64_t alignment) override;
  Result<uint64_t> Reserve(uint32_t device, uint64_t bytes, uint64_t alignment, uint64_t wish) override {
    return memory_.Reserve(device, bytes, alignment, wish);
  }
  Result<std::shared_ptr<SharedMemory>> CreateHostMemory(uint64_t bytes) override {
    return HostRange::Create(bytes, host_);
  }
  Result<std::shared_ptr<SharedMemory>> Share(uint64_t address, AtEnd end) override {
    return memory_.Share(address, end);
  }
  Status Map(uint64_t address, std::shared_ptr<SharedMemory> memory, bool writable) override {
    return memory_.Map(address, memory, writable);
  }
  Status Unmap(uint64_t address, uint64_t bytes) override;
  Result<std::shared_ptr<SharedMemory>> Adopt(os::Fd file) override { return SharedRange::OfFile(std::move(file)); }
  Result<uint64_t> Word(uint64_t address, uint32_t bytes, uint64_t add) override {
    return memory_.Word(address, bytes, add);
  }
  Status Free(uint64_t address) override;
  Status CreateStream(uint32_t stream, const StreamOptions& options) override;
  Status DestroyStream(uint32_t stream) override;
  Status Launch(uint32_t stream, uint64_t ticket, const Grid& grid) override;
  Status Copy(uint32_t stream, uint64_t ticket, const wire::CopyBody& copy) override;
  Status Fill(uint32_t stream, uint64_t ticket, const wire::FillBody& fill) override;
  Status RecordEvent(uint32_t stream, uint64_t ticket, uint32_t event) override;
  Status Wait(uint32_t stream, uint64_t ticket, uint32_t other_stream, uint64_t other_ticket) override;
  Status HostCall(uint32_t stream, uint64_t ticket, uint64_t token) override;
  Status Mark(uint32_t stream, uint64_t ticket) override;
  Status FreeInStream(uint32_t stream, uint64_t ticket, uint64_t address) override;
  Result<uint64_t> CreateCondition(uint32_t device) override;
  Status DestroyCondition(uint64_t condition) override;
  Status SetCondition(uint32_t stream, uint64_t ticket, uint64_t condition, uint32_t value) override;
  Status BeginConditional(uint32_t stream, uint64_t ticket, uint64_t condition, wire::ConditionalKind kind) override;
  Status BeginBody(uint32_t stream, uint64_t ticket, uint32_t number) override;
  Status EndConditional(uint32_t stream, uint64_t ticket, bool no_more) override;
  Status UploadGraph(uint32_t device, uint64_t graph, std::vector<wire::GraphNode> nodes, bool is_node) override;
  void DropGraph(uint64_t graph) override;
  Status LaunchGraph(uint32_t stream, uint64_t ticket, uint64_t graph, uint32_t environment) override;
  Status EndEnvironment(uint32_t stream, uint64_t ticket, uint32_t environment) override;
  Status HostCallDone(uint32_t stream, uint64_t token) override;
  Result<LoadedModule> LoadModule(uint32_t device, std::span<const uint8_t> image) override;
  Result<PreparedKernel> Prepare(uint32_t module, uint32_t kernel, const uint32_t block[3]) override;
  Result<uint32_t> BlocksPerSm(uint32_t module, uint32_t kernel, uint32_t block_threads,
                               uint32_t dynamic_shared_bytes) override;
  Status UnloadModule(uint32_t module) override;
  void LoadAgain(uint32_t kernel) override;
  void Reset(uint32_t device) override;
  void SetLimits(const Limits& limits) override;
  Status LimitContext(uint32_t device, uint32_t context, double part) override;
  Status LimitHeap(uint32_t device, uint64_t bytes) override;
  Status SetKernelLimit(uint32_t device, int32_t limit, uint64_t value) override;
  void Abandon() override;
  std::vector<RunningKernel> Running(uint32_t device) override;
  metrics::ClientCounters& counters(uint32_t device) override { return counters_[device]; }

  // For workers. The Space lives as long as the scheduler counts an SM for it.
  void TaskDone(CpuOperation* operation);
  void Fail(uint32_t device, Fault fault);
  const std::shared_ptr<const std::string>& label() const { return label_; }

 private:
  // By which the source of code reaches the Space as long as there is one.
  class CodeLink final : public CodeTaker {
   public:
    explicit CodeLink(CpuSpace* space) : space_(space) {}
    void TakeCode(const LoadedCode& quick, const LoadedCode& code) override;
    void Cut();

   private:
    std::mutex mutex_;  // taken before the Space's
    CpuSpace* space_;
  };

  // Its part of one device.
  class Part final : public guest::KernelHost {
   public:
    Part(CpuSpace* space, CpuDevice* device, uint32_t ordinal);
    int32_t Print(const guest::GuestMemory& memory, uint64_t format, uint64_t arguments) override;
    uint64_t HeapAllocate(uint64_t bytes) override { return heap.Allocate(bytes); }
    void HeapRelease(uint64_t address) override { heap.Release(address); }
    void AssertFailed(const guest::GuestMemory& memory, const Assertion& assertion) override;
    bool SetCondition(uint64_t condition, uint32_t value) override {
      return space->conditions_.Set(ordinal, condition, value);
    }
    bool MayTouch(uint64_t address, uint64_t bytes, bool writes) const override {
      return space->memory_.MayTouch(address, bytes, writes);
    }
    void CallRuntime(const guest::KernelLaunch& launch, guest::RuntimeCall* call) override;

    CpuSpace* const space;
    CpuDevice* const device;
    const uint32_t ordinal;
    DeviceHeap heap;
    SpaceShare share;
    int32_t error = 0;  // sticky; the Space's lock
    std::array<std::atomic<uint64_t>, cuda::CU_LIMIT_COUNT> limits;  // as cuCtxSetLimit sets them

    // Of what kernels launch; the Space's lock.
    uint64_t pending = 0;  // launches and markers that have not run
    ParameterBuffers buffers;
    bool MayLaunchMore() const {
      return pending + buffers.count() < limits[cuda::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT];
    }
    std::vector<CpuOperation*> awaiting_code;
    std::unordered_map<uint32_t, uint64_t> error_texts;  // addresses, by number
  };

  Begun Start(Operation* operation) override;
  // Its kernel's module may go.
  void TaskOver(Operation* operation) override {
    KernelInstance* const kernel = static_cast<CpuOperation*>(operation)->kernel;
    if (kernel == nullptr) return;
    LoadedCode unused = modules_.LaunchOver(kernel, static_cast<CpuOperation*>(operation)->task.kernel.grid_id);
    if (unused != nullptr) [[unlikely]]
      engine_.Release({.address = 0, .kept = std::move(unused)});
  }
  int32_t DeviceError(uint32_t device) const override { return parts_[device]->error; }
  void Store(Operation* operation) override { memory_.StoreCounter(operation->address, operation->value); }
  uint32_t ValueOf(uint32_t device, uint64_t condition) const override {
    return conditions_.ValueOf(device, condition);
  }
  void SetValueOf(uint32_t device, uint64_t condition, uint32_t value) override {
    conditions_.Set(device, condition, value);
  }

  Result<Stream*> FindStream(uint32_t number) const;
  Status SubmitSimple(Operation::Kind kind, uint32_t stream, uint64_t ticket,
                      void (*fill)(Operation*, uint64_t, uint64_t), uint64_t a, uint64_t b);
  Result<Operation*> NewConditionalOperation(Operation::Kind kind, uint32_t number, uint64_t ticket, Stream** stream);
  void CheckCondition(uint32_t device, uint64_t condition);
  void EndTask(CpuOperation* operation);
  Result<CpuOperation*> NewTask(uint64_t ticket, const Stream& stream, uint64_t argument_bytes = 0);
  void PrepareTask(CpuOperation* operation, const Stream& stream);
  static void PrepareTask(CpuOperation* operation);  // whose share, urgency and context are set
  void FillLaunch(CpuOperation* operation, Part* part, KernelInstance* kernel, const Grid& grid);
  static void SetCode(Task* task, const KernelInstance& kernel);
  Status CheckLaunch(const Grid& grid, const KernelInstance& kernel, uint32_t device) const;
  bool WriteConstants(Transfer* transfer) const;
  Result<uint64_t> MakeRoomForCode();
  void TakeCode(const LoadedCode& quick, const LoadedCode& code);
  void FailLocked(uint32_t device, Fault fault);
  void DropWork(uint32_t device);

  // What kernels launch (cpu_space_children.cc).
  uint64_t ErrorText(Part* part, uint64_t error, bool name);  // cpu_space_runtime.cc
  void CallLaunching(Part* part, CpuOperation* from, guest::RuntimeCall* call);
  guest::RuntimeError TakeBuffer(Part* part, CpuOperation* from, guest::RuntimeCall* call);
  guest::RuntimeError LaunchChild(Part* part, CpuOperation* from, const guest::RuntimeCall& call,
                                  ChildOrder::Ready* ready);
  guest::RuntimeError TransferByChild(Part* part, CpuOperation* from, const guest::RuntimeCall& call,
                                      ChildOrder::Ready* ready);
  guest::RuntimeError UseStream(Part* part, CpuOperation* from, guest::RuntimeCall* call, ChildOrder::Ready* ready);
  guest::RuntimeError Place(CpuOperation* from, std::unique_ptr<CpuOperation> child, const guest::RuntimeCall& call,
                            uint64_t stream, ChildOrder::Ready* ready);
  std::unique_ptr<CpuOperation> NewChild(Part* part, const CpuOperation& from, uint64_t argument_bytes);
  bool StartChild(Part* part, CpuOperation* child);
  void StartChildren(Part* part, ChildOrder::Ready* ready);
  void AwaitCode(Part* part, CpuOperation* child);
  void FetchCode(Part* part, uint32_t module, const ChildShape& shape);
  Part* PartOf(const Task& task) const;
  void EndBlocks(Part* part, CpuOperation* operation, ChildOrder::Ready* ready);
  void DropAwaiting(Part* part);
  static const ModuleInstance& ModuleOf(const CpuOperation& child);

  // Graphs that they launch (cpu_space_graphs.cc).
  guest::RuntimeError LaunchGraphByKernel(Part* part, CpuOperation* from, const guest::RuntimeCall& call,
                                          ChildOrder::Ready* ready);
  guest::RuntimeError UpdateNode(Part* part, const guest::RuntimeCall& call);
  void ForgetNodes(const DeviceGraph& graph);
  CpuOperation* EnvironmentOf(Part* part, CpuOperation* from);
  guest::RuntimeError MakeRun(Part* part, const CpuOperation& from, const std::shared_ptr<const DeviceGraph>& graph,
                              std::unique_ptr<CpuOperation>* run);
  guest::RuntimeError MakeNode(Part* part, const CpuOperation& from, const wire::GraphNode& work,
                               std::unique_ptr<CpuOperation>* node);
  void BeginRun(Part* part, CpuOperation* run, ChildOrder::Ready* ready);
  static void BeginNodes(CpuOperation* run, std::vector<uint32_t> over, ChildOrder::Ready* ready);
  static void RunOver(CpuOperation* run);
  void BeginFamilies();
  void BeginGraph(CpuOperation* record, ChildOrder::Ready* ready);
  void EndEnvironment(Part* part, CpuOperation* inner, CpuOperation* record, ChildOrder::Ready* ready);
  void DropEnvironments(Part* part);
  Status SubmitGraphRecord(uint32_t stream, uint64_t ticket, const std::function<void(CpuOperation*, Stream*)>& fill);
  // Unlocks, then runs the deferred callbacks (Errands, Wakes) and releases what was waiting to be freed.
  void UnlockAndRunDeferred(std::unique_lock<std::mutex>* lock);

  const std::unique_ptr<metrics::ClientCounters[]> counters_;  // by device
  const uint64_t owner_number_;
  const std::shared_ptr<const std::string> label_;
  Sink* const sink_;
  const std::shared_ptr<HostShare> host_;  // what others hold of it stays
  const Window window_;
  const wire::WindowShape shape_;
  WindowMemory memory_;
  const std::shared_ptr<CodeLink> code_link_;
  ModuleTable modules_;
  ConditionTable conditions_;
  std::vector<std::unique_ptr<Part>> parts_;  // by device

  std::mutex mutex_;
  StreamEngine engine_;
  Errands errands_;
  uint64_t launched_ = 0;
  std::unordered_map<uint64_t, std::shared_ptr<const DeviceGraph>> graphs_;  // by the client's numbers
  std::unordered_map<uint64_t, std::shared_ptr<UpdatableNode>> updatable_nodes_;  // by the client's numbers
  std::map<std::pair<uint32_t, uint32_t>, CpuOperation*> environments_;  // the inner ones, by device and number
  std::vector<CpuOperation*> begun_;  // records whose families are to begin before the lock is released
  HelperThread fetcher_;  // of the code of kernels that kernels launch
};

}  // namespace tutti::device::cpu
