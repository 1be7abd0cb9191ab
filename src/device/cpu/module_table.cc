#include "device/cpu/module_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "cuda/result.h"
#include "device/common/said_name.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kMostImageBytes = 4ull << 30;  // of all modules of a client

// The segment's first bytes, relocated to these addresses. The index comes from the compiler process and is validated
// like a client's data.
Result<std::vector<uint8_t>> RelocatedImage(const module::ModuleIndex& index,
                                            const module::SegmentAddresses& addresses) {
  std::vector<uint8_t> bytes = index.image;
  if (bytes.size() > index.segment_bytes)
    return Fail(cuda::CUDA_ERROR_INVALID_IMAGE, "module image larger than its segment");
  for (const module::Relocation& relocation : index.relocations) {
    if (!InRange<uint64_t>(relocation.offset, sizeof(uint64_t), index.segment_bytes)) {
      return Fail(cuda::CUDA_ERROR_INVALID_IMAGE, "relocation outside of the module's segment");
    }
    if (bytes.size() < relocation.offset + sizeof(uint64_t)) bytes.resize(relocation.offset + sizeof(uint64_t));
    uint64_t value = 0;
    if (relocation.kind == module::Relocation::Kind::kSegment) {
      value = addresses.Of(relocation.addend);
    } else {
      value = module::FunctionAddress(static_cast<uint32_t>(relocation.addend));
    }
    std::memcpy(bytes.data() + relocation.offset, &value, sizeof value);
  }
  return bytes;
}

}  // namespace

std::optional<uint32_t> ModuleInstance::KernelAt(uint64_t address) const {
  constexpr uint32_t kNone = ~0u;
  constexpr uint64_t kStep = module::FunctionAddress(1) - module::FunctionAddress(0);
  if (kernel_numbers_.empty()) {
    std::unordered_map<std::string_view, uint32_t> numbers;
    for (uint32_t i = 0; i < index->kernels.size(); ++i) numbers.emplace(index->kernels[i].name, i);
    for (const std::string& name : index->functions) {
      const auto found = numbers.find(name);
      kernel_numbers_.push_back(found == numbers.end() ? kNone : found->second);
    }
  }
  const uint64_t offset = address - module::kFunctionAddressBase;
  if (offset % kStep != 0 || offset / kStep >= kernel_numbers_.size()) return std::nullopt;
  const uint32_t number = kernel_numbers_[offset / kStep];
  return number == kNone ? std::nullopt : std::optional(number);
}

// The constants' part of the segment is never touched, so it costs no memory; it keeps all offsets as they are, and
// counts as constants.
Result<module::SegmentAddresses> ModuleTable::PlaceSegment(uint32_t device, const module::ModuleIndex& index) {
  module::SegmentAddresses addresses{.constant_bytes = module::ConstantBytes(index)};
  if (index.segment_bytes == 0) return addresses;
  // Managed variables are for host code, too, and take the others with them.
  const bool is_managed = std::ranges::any_of(index.variables, &module::SegmentVariable::is_managed);
  TUTTI_ASSIGN(addresses.segment,
               memory_->Allocate(device, is_managed ? wire::MemoryKind::kManaged : wire::MemoryKind::kDevice,
                                 index.segment_bytes, std::max<uint64_t>(index.segment_alignment, 256),
                                 WindowMemory::Holder::kDevice));
  const auto fill = [&]() -> Status {
    if (addresses.constant_bytes != 0) {
      TUTTI_ASSIGN(addresses.constants, memory_->AllocateConstants(addresses.constant_bytes));
    }
    TUTTI_ASSIGN(const std::vector<uint8_t> bytes, RelocatedImage(index, addresses));
    const auto constants = std::span(bytes).first(std::min<uint64_t>(bytes.size(), addresses.constant_bytes));
    TUTTI_TRY(memory_->WriteConstants(addresses.constants, constants));
    std::copy(bytes.begin() + static_cast<ptrdiff_t>(constants.size()), bytes.end(),
              reinterpret_cast<uint8_t*>(addresses.segment + constants.size()));
    return {};
  };
  if (const Status filled = fill(); !filled) {
    if (addresses.constants != 0) memory_->Release(addresses.constants);
    memory_->Release(addresses.segment);
    return std::unexpected(filled.error());
  }
  return addresses;
}

Result<Space::LoadedModule> ModuleTable::Load(uint32_t device, std::span<const uint8_t> image) {
  auto instance = std::make_shared<ModuleInstance>();
  instance->device = device;
  instance->hold = HostHold(host_, image.size());
  if (!instance->hold) {
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY,
                fmt::format("an image of {} bytes, and the client holds {} of its {} bytes of host memory",
                            image.size(), host_->used_bytes(), host_->limit_bytes()));
  }
  TUTTI_ASSIGN(instance->index, source_->Index(image, cancelled_));
  TUTTI_ASSIGN(instance->addresses, PlaceSegment(device, *instance->index));
  instance->image = source_->images().Keep(image);
  std::unique_lock lock(mutex_);
  if (image.size() > kMostImageBytes - image_bytes_) {
    lock.unlock();
    if (instance->addresses.constants != 0) memory_->Release(instance->addresses.constants);
    if (instance->addresses.segment != 0) memory_->Release(instance->addresses.segment);
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, "the modules of this client are too large together");
  }
  image_bytes_ += image.size();
  const uint32_t id = instance->id = next_module_++;
  modules_[id].instance = instance;
  return Space::LoadedModule{
      .id = id, .info = module::Describe(*instance->index, instance->addresses), .log = instance->index->log};
}

Result<PreparedKernel> ModuleTable::Prepare(uint32_t module, uint32_t kernel, const uint32_t block[3],
                                            const MakeRoom& make_room) {
  const PreparedKey key{module, kernel, block[0], block[1], block[2]};
  std::shared_ptr<const ModuleInstance> instance;
  {
    std::lock_guard lock(mutex_);
    if (const auto ready = prepared_.find(key); ready != prepared_.end()) return Describe(ready->second);
    const auto found = modules_.find(module);
    if (found == modules_.end())
      return Fail(cuda::CUDA_ERROR_INVALID_HANDLE, fmt::format("there is no module {}", module));
    instance = found->second.instance;
  }
  const module::ModuleIndex& index = *instance->index;
  if (kernel >= index.kernels.size()) {
    return Fail(cuda::CUDA_ERROR_INVALID_HANDLE, fmt::format("module {} has no kernel {}", module, kernel));
  }
  const module::KernelInfo& info = index.kernels[kernel];
  if (!info.error.empty())
    return Fail(cuda::CUDA_ERROR_INVALID_PTX, fmt::format("kernel {}: {}", info.name, info.error));

  auto prepared = std::make_shared<KernelInstance>();
  TUTTI_ASSIGN(prepared->launched, make_room());
  TUTTI_ASSIGN(prepared->code, source_->Kernel(*instance->image, index, kernel, block, cancelled_));
  prepared->module = instance;
  prepared->number = kernel;
  std::copy_n(block, 3, prepared->block);
  prepared->newest = prepared->code->descriptor;
  prepared->local_bytes = prepared->code->descriptor->local_bytes;
  prepared->name = std::make_shared<const std::string>(SaidName(info.name));
  prepared->param_bytes = std::max(info.param_bytes, prepared->code->descriptor->param_bytes);
  prepared->max_threads = info.max_threads;

  const LoadedCode code = prepared->code;
  const auto listed = List(key, std::move(prepared));
  if (listed) AwaitBetter(code);
  return listed;
}

// Unless another thread has been faster.
Result<PreparedKernel> ModuleTable::List(const PreparedKey& key, std::shared_ptr<KernelInstance> prepared) {
  std::lock_guard lock(mutex_);
  if (const auto ready = prepared_.find(key); ready != prepared_.end()) return Describe(ready->second);
  const auto found = modules_.find(prepared->module->id);
  if (found == modules_.end())
    return Fail(cuda::CUDA_ERROR_INVALID_HANDLE, fmt::format("module {} was unloaded", prepared->module->id));
  uint32_t slot = 0;
  if (!TakeSlot(&slot))
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("a client has {} kernels prepared at most", kMostPrepared));
  const uint32_t id = slots_[slot].id;
  const auto& [x, y, z] = prepared->block;
  prepared->module->prepared[{prepared->number, x, y, z}] = prepared.get();
  slots_[slot].kernel = std::move(prepared);
  ++loaded_;
  found->second.kernel_ids.push_back(id);
  prepared_[key] = id;
  return Describe(id);
}

bool ModuleTable::TakeSlot(uint32_t* slot) {
  if (!free_slots_.empty()) {
    *slot = free_slots_.front();
    free_slots_.pop_front();
    return true;
  }
  if (slots_.size() == kMostPrepared) return false;
  *slot = static_cast<uint32_t>(slots_.size());
  slots_.push_back({.kernel = nullptr, .id = *slot});
  return true;
}

// Its id is not reused before all others of the slot were.
std::shared_ptr<KernelInstance> ModuleTable::GiveBackSlot(uint32_t id) {
  Slot& slot = slots_[id % kMostPrepared];
  slot.id += kMostPrepared;
  loaded_ -= (slot.kernel->code != nullptr ? 1 : 0) + (slot.kernel->replaced != nullptr ? 1 : 0);
  slot.kernel->is_listed = false;
  free_slots_.push_back(id % kMostPrepared);
  return std::move(slot.kernel);
}

Result<PreparedKernel> ModuleTable::Describe(uint32_t id) const {
  const KernelInstance& kernel = *slots_[id % kMostPrepared].kernel;
  return PreparedKernel{.id = id, .local_bytes = kernel.local_bytes, .max_threads = kernel.max_threads};
}

Result<std::shared_ptr<const void>> ModuleTable::Unload(uint32_t module, module::SegmentAddresses* addresses) {
  std::lock_guard lock(mutex_);
  const auto found = modules_.find(module);
  if (found == modules_.end())
    return Fail(cuda::CUDA_ERROR_INVALID_HANDLE, fmt::format("there is no module {}", module));
  auto kept = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  for (const uint32_t id : found->second.kernel_ids) kept->push_back(GiveBackSlot(id));
  *addresses = found->second.instance->addresses;
  image_bytes_ -= found->second.instance->image->size();
  kept->push_back(std::move(found->second.instance));
  std::erase_if(prepared_, [module](const auto& entry) { return std::get<0>(entry.first) == module; });
  modules_.erase(found);
  return kept;
}

std::shared_ptr<KernelInstance> ModuleTable::Lookup(uint32_t kernel_id) const {
  const uint32_t slot = kernel_id % kMostPrepared;
  return slot < slots_.size() && slots_[slot].id == kernel_id ? slots_[slot].kernel : nullptr;
}

KernelInstance* ModuleTable::Find(uint32_t kernel_id) const {
  std::lock_guard lock(mutex_);
  const uint32_t slot = kernel_id % kMostPrepared;
  return slot < slots_.size() && slots_[slot].id == kernel_id ? slots_[slot].kernel.get() : nullptr;
}

std::shared_ptr<KernelInstance> ModuleTable::Keep(uint32_t kernel_id) const {
  std::lock_guard lock(mutex_);
  return Lookup(kernel_id);
}

KernelInstance* ModuleTable::FindPrepared(const ModuleInstance& module, uint32_t kernel,
                                          const uint32_t block[3]) const {
  std::lock_guard lock(mutex_);
  const auto found = module.prepared.find({kernel, block[0], block[1], block[2]});
  return found == module.prepared.end() ? nullptr : found->second;
}

Result<LoadedCode> ModuleTable::CodeOf(uint32_t kernel_id) {
  std::shared_ptr<KernelInstance> kernel;
  {
    std::lock_guard lock(mutex_);
    kernel = Lookup(kernel_id);
  }
  if (kernel == nullptr) return Fail(cuda::CUDA_ERROR_INVALID_HANDLE, fmt::format("there is no kernel {}", kernel_id));
  return source_->Kernel(*kernel->module->image, *kernel->module->index, kernel->number, kernel->block, cancelled_);
}

void ModuleTable::GiveBack(uint32_t kernel_id, Result<LoadedCode> code, uint64_t launched) {
  std::lock_guard lock(mutex_);
  const auto kernel = Lookup(kernel_id);
  if (kernel == nullptr || kernel->code != nullptr) return;
  if (!code) {
    kernel->load_error = code.error();
    return;
  }
  kernel->code = std::move(*code);
  kernel->newest = kernel->code->descriptor;
  kernel->param_bytes = std::max(kernel->param_bytes, kernel->code->descriptor->param_bytes);
  kernel->launched = launched;
  ++loaded_;
}

bool ModuleTable::MakeRoomForOne(LoadedCode* gone) {
  std::lock_guard lock(mutex_);
  return HasRoom(gone);
}

// With the lock held: true if there is room for one more, perhaps since one was evicted.
bool ModuleTable::HasRoom(LoadedCode* gone) {
  if (loaded_ < most_loaded_) return true;
  KernelInstance* longest = nullptr;
  for (const Slot& slot : slots_) {
    KernelInstance* const kernel = slot.kernel.get();
    if (kernel == nullptr || kernel->code == nullptr || kernel->in_streams != 0) continue;
    if (longest == nullptr || kernel->launched < longest->launched) longest = kernel;
  }
  if (longest == nullptr) return false;
  --loaded_;
  *gone = std::move(longest->code);
  return true;
}

void ModuleTable::AwaitBetter(const LoadedCode& code) const {
  if (code->replacement != nullptr) code->replacement->Await(code, taker_);
}

void ModuleTable::Replace(const LoadedCode& quick, const LoadedCode& code, uint64_t launched,
                          std::vector<LoadedCode>* gone) {
  std::lock_guard lock(mutex_);
  for (const Slot& slot : slots_) {
    KernelInstance* const kernel = slot.kernel.get();
    if (kernel == nullptr || kernel->code != quick) continue;
    LoadedCode evicted;
    if (kernel->in_streams != 0 && (code == nullptr || !HasRoom(&evicted))) {
      kernel->is_outdated = true;
      continue;
    }
    gone->push_back(std::move(evicted));
    if (code == nullptr) {
      --loaded_;
      kernel->habits.ForgetTime();
      gone->push_back(std::move(kernel->code));
      continue;
    }
    if (kernel->in_streams != 0) {
      ++loaded_;
      kernel->replaced_at = launched;
      kernel->in_streams_before = kernel->in_streams;
      kernel->replaced = std::move(kernel->code);
    } else {
      gone->push_back(std::move(kernel->code));
    }
    kernel->code = code;
    kernel->is_outdated = false;
    kernel->newest.store(code->descriptor, std::memory_order_seq_cst);  // before ForgetTime: see LearnTime
    kernel->habits.ForgetTime();
  }
}

LoadedCode ModuleTable::TakeUnused(KernelInstance* kernel, uint64_t launch) {
  std::lock_guard lock(mutex_);
  LoadedCode unused;
  if (kernel->replaced != nullptr) {
    if (launch <= kernel->replaced_at && --kernel->in_streams_before == 0) unused = std::move(kernel->replaced);
  } else if (kernel->in_streams == 0 && kernel->is_listed) {  // else nobody could load it again
    kernel->is_outdated = false;
    kernel->habits.ForgetTime();  // of quick code; what is loaded next is better
    unused = std::move(kernel->code);
  }
  if (unused != nullptr && kernel->is_listed) --loaded_;
  return unused;
}

}  // namespace tutti::device::cpu
