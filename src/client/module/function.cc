#include "client/module/function.h"

#include <algorithm>

#include "base/log.h"
#include "client/base/environment.h"
#include "client/context/context.h"
#include "client/module/compile_wait.h"
#include "client/module/module.h"
#include "client/session/attachment.h"
#include "cuda/device_attribute.h"

namespace tutti::client {
namespace {

uint32_t DefaultDynamicShared(const Context& context, const module::KernelInfo& info) {
  const auto limit =
      static_cast<uint32_t>(context.device().Attribute(cuda::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
  return limit - std::min(limit, info.static_shared_bytes);
}

// One that no cluster can have makes launches fail, as CheckCluster says.
uint32_t ClusterRules(const module::KernelInfo& info) {
  uint32_t rules = info.cluster_must_be_set ? Function::kClusterMustBeSet : 0;
  if (info.max_cluster != 0) rules |= Function::kClusterHasMost;
  for (unsigned i = 0; i < 3; ++i) rules |= std::min(info.required_cluster[i], 0xffu) << (8 * i);
  return rules;
}

}  // namespace

constinit Pool<Function, 1 << 20> Function::pool_;

Function::Function(Module& module, uint32_t number)
    : module_(module),
      context_(module.context()),
      info_(module.info().kernels[number]),
      serial_(module.serial()),
      number_(number),
      max_dynamic_shared_(DefaultDynamicShared(context_, info_)),
      cluster_rules_(ClusterRules(info_)) {}

void Function::Delete(Function* function) {
  if (pool_.Retire(function)) pool_.Delete(function);
}

Answer<uint32_t> Function::Prepare(const BlockShape& shape) {
  const bool any_shape = context_.device().Has(wire::kDeviceAnyShape);
  wire::PrepareBody body{.module = module_.id(), .function = number_};
  if (!any_shape) {
    body.block[0] = shape.x;
    body.block[1] = shape.y;
    body.block[2] = shape.z;
  }
  CompileWait wait(info_.name);
  const ipc::Reply reply =
      Attachment::Get().replies().Call(wire::RecordKind::kPrepare, body, [&wait] { wait.GoesOn(); });
  if (reply.status != 0) {
    LogFailure(reply.status);
    return Refuse(reply.status);
  }
  const auto kernel = static_cast<uint32_t>(reply.value[0]);
  Keep(shape.packed(), kernel);
  if (any_shape) {
    std::lock_guard lock(mutex_);
    any_shape_ = kernel;
  }
  return kernel;
}

Answer<uint32_t> Function::PreparedLater(const BlockShape& shape) {
  if (const auto kernel = later_.Find(shape.packed())) return *kernel;
  std::optional<uint32_t> any_shape;
  {
    std::lock_guard lock(mutex_);
    any_shape = any_shape_;
  }
  if (!any_shape) return Prepare(shape);
  Keep(shape.packed(), *any_shape);
  return *any_shape;
}

uint32_t Function::AskedBlocksPerSm(uint32_t block_threads, uint32_t dynamic_shared_bytes) const {
  const std::pair key(block_threads, dynamic_shared_bytes);
  {
    std::lock_guard lock(mutex_);
    if (const auto known = blocks_per_sm_.find(key); known != blocks_per_sm_.end()) return known->second;
  }
  const ipc::Reply reply =
      Attachment::Get().replies().Call(wire::RecordKind::kOccupancy, wire::OccupancyBody{
                                                                         .module = module_.id(),
                                                                         .function = number_,
                                                                         .block_threads = block_threads,
                                                                         .dynamic_shared_bytes = dynamic_shared_bytes,
                                                                     });
  if (reply.status != 0) return 0;
  std::lock_guard lock(mutex_);
  return blocks_per_sm_[key] = static_cast<uint32_t>(reply.value[0]);
}

void Function::Keep(uint64_t shape, uint32_t kernel) {
  std::lock_guard lock(mutex_);
  for (Prepared_& entry : prepared_) {
    const uint64_t held = entry.shape.load(std::memory_order_relaxed);
    if (held == shape) return;
    if (held != 0) continue;
    entry.kernel = kernel;
    entry.shape.store(shape, std::memory_order_release);
    return;
  }
  later_.Add(shape, kernel);
}

void Function::LogFailure(int status) {
  if (Environment("TUTTI_QUIET") == "1" || failure_logged_.exchange(true, std::memory_order_relaxed)) return;
  ByteWriter body;
  wire::Put(body, wire::QueryModule{.module = module_.id(), .function = number_});
  auto answer = Attachment::Get().connection().Call(wire::MessageKind::kQueryModule, std::move(body), {},
                                                    wire::MessageKind::kQueryModuleReply);
  std::string reason;
  if (answer) {
    ByteReader in(answer->body);
    if (auto reply = wire::GetQueryModuleReply(in)) reason = std::move(reply->log);
  }
  const char* name = cuda::ResultName(status);
  log::Error("kernel {} cannot be launched: {}: {}", info_.name, name != nullptr ? name : "?",
             reason.substr(0, reason.find('\n')));
}

int Function::GetAttribute(cuda::CUfunction_attribute attribute, int* value) const {
  const Device& device = context_.device();
  switch (attribute) {
    case cuda::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = static_cast<int>(info_.max_threads); break;
    case cuda::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = static_cast<int>(info_.static_shared_bytes); break;
    case cuda::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = static_cast<int>(info_.const_bytes); break;
    case cuda::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = static_cast<int>(info_.local_bytes); break;
    case cuda::CU_FUNC_ATTRIBUTE_NUM_REGS: *value = static_cast<int>(info_.registers); break;
    case cuda::CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = static_cast<int>(info_.ptx_version); break;
    case cuda::CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = info_.binary_version != 0 ? static_cast<int>(info_.binary_version)
                                         : 10 * device.Attribute(cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                                               device.Attribute(cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
      break;
    case cuda::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = static_cast<int>(max_dynamic_shared()); break;
    case cuda::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = carveout_; break;
    case cuda::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = non_portable_cluster_; break;
    case cuda::CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *value = info_.cluster_must_be_set ? 1 : 0; break;
    case cuda::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH... cuda::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      *value = cluster_rules() >> 8 * (attribute - cuda::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH) & 0xff;
      break;
    default:
      if (attribute < 0 || attribute >= cuda::CU_FUNC_ATTRIBUTE_MAX) return cuda::CUDA_ERROR_INVALID_VALUE;
      *value = 0;
  }
  return cuda::CUDA_SUCCESS;
}

int Function::SetAttribute(cuda::CUfunction_attribute attribute, int value) {
  switch (attribute) {
    case cuda::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const int most = context_.device().Attribute(cuda::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) -
                       static_cast<int>(info_.static_shared_bytes);
      if (value < 0 || value > most) return cuda::CUDA_ERROR_INVALID_VALUE;
      max_dynamic_shared_ = static_cast<uint32_t>(value);
      return cuda::CUDA_SUCCESS;
    }
    case cuda::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100) return cuda::CUDA_ERROR_INVALID_VALUE;
      carveout_ = value;
      return cuda::CUDA_SUCCESS;
    case cuda::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      non_portable_cluster_ = value != 0;
      return cuda::CUDA_SUCCESS;
    case cuda::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH... cuda::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      return RequireCluster(attribute - cuda::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, value);
    case cuda::CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: return cuda::CUDA_SUCCESS;
    default: return cuda::CUDA_ERROR_INVALID_VALUE;
  }
}

// Of a cluster that the kernel itself does not name. Whether it is one is seen by launches, since a program sets one
// extent after the other.
int Function::RequireCluster(int axis, int extent) {
  if (info_.required_cluster[0] != 0) return cuda::CUDA_ERROR_NOT_PERMITTED;
  if (extent < 0 || extent > 0xff) return cuda::CUDA_ERROR_INVALID_VALUE;
  const uint32_t shift = 8 * static_cast<uint32_t>(axis);
  std::lock_guard lock(mutex_);
  cluster_rules_ = (cluster_rules_ & ~(0xffu << shift)) | static_cast<uint32_t>(extent) << shift;
  return cuda::CUDA_SUCCESS;
}

uint32_t Function::max_cluster() const {
  constexpr uint32_t kPortable = 8, kMost = 16;
  const uint32_t most = non_portable_cluster_ != 0 ? kMost : kPortable;
  return info_.max_cluster != 0 ? std::min(most, info_.max_cluster) : most;
}

}  // namespace tutti::client
