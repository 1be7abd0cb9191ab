#include "client/array/array_memory.h"

#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/memory/memory.h"
#include "client/session/attachment.h"
#include "cuda/array_format.h"

namespace tutti::client {
namespace {

bool IsCubeMap(const cuda::CUDA_ARRAY3D_DESCRIPTOR& shape) { return (shape.Flags & cuda::CUDA_ARRAY3D_CUBEMAP) != 0; }

// Six layers are the faces of a cube; only with CUDA_ARRAY3D_LAYERED there may be several.
bool IsCube(const cuda::CUDA_ARRAY3D_DESCRIPTOR& shape) {
  const bool layered = (shape.Flags & cuda::CUDA_ARRAY3D_LAYERED) != 0;
  return shape.Width == shape.Height && shape.Depth != 0 && (layered ? shape.Depth % 6 == 0 : shape.Depth == 6);
}

Answer<uint64_t> AskForArray(Context& context, const wire::ArrayShape& shape, uint64_t bytes) {
  const wire::ArrayCreateBody body{.shape = shape, .device = context.device().index(), .reserved = 0};
  const ipc::Reply reply = AskTwiceForMemory(
      context, true, [&] { return Attachment::Get().replies().Call(wire::RecordKind::kArrayCreate, body); });
  if (reply.status == cuda::CUDA_ERROR_NOT_SUPPORTED)
    return Refuse(Complain(reply.status, "arrays: the program could not move to an executor of its own for them"));
  if (reply.status != 0) return Refuse(reply.status);
  const uint64_t address = reply.value[0];
  if (!Attachment::Get().InWindow(address, bytes)) return Refuse(cuda::CUDA_ERROR_MPS_RPC_FAILURE);
  const Allocation allocation{.address = address,
                              .bytes = bytes,
                              .kind = AllocationKind::kArray,
                              .context = &context.owner(),
                              .device_address = address};
  return AllocationTable::Get().Insert(allocation) ? Answer<uint64_t>(address)
                                                   : Refuse(cuda::CUDA_ERROR_MPS_RPC_FAILURE);
}

}  // namespace

Answer<ArrayMemory> AllocateArray(Context& context, const cuda::CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels,
                                  bool is_mipmapped) {
  const Device& device = context.device();
  if (device.Has(wire::kDeviceNoArrays) && !device.Has(wire::kDeviceMakesArrays)) {
    return Refuse(Complain(cuda::CUDA_ERROR_NOT_SUPPORTED,
                           "arrays are for programs with an executor of their own: TUTTI_ISOLATION=process or auto"));
  }
  const wire::ArrayShape shape{.width = descriptor.Width,
                               .height = descriptor.Height,
                               .depth = descriptor.Depth,
                               .format = descriptor.Format,
                               .channels = descriptor.NumChannels,
                               .flags = descriptor.Flags,
                               .levels = levels,
                               .mipmapped = is_mipmapped ? 1u : 0u};
  const auto layout = wire::ArrayLayout::Of(shape, cuda::TexelBytes(descriptor.Format, descriptor.NumChannels));
  if (!layout || (IsCubeMap(descriptor) && !IsCube(descriptor))) return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  CU_ASSIGN_OR_REFUSE(const uint64_t address, device.Has(wire::kDeviceMakesArrays)
                                                  ? AskForArray(context, shape, layout->bytes())
                                                  : Allocate(context, AllocationKind::kArray, layout->bytes()));
  const auto allocation = AllocationTable::Get().Find(address);
  return ArrayMemory{.address = address, .allocation = allocation ? allocation->id : 0, .layout = *layout};
}

void FreeArray(uint64_t address, uint64_t allocation) {
  const auto taken = AllocationTable::Get().Take(
      address, [=](const Allocation& a) { return a.kind == AllocationKind::kArray && a.id == allocation; });
  if (taken) ReturnMemory(*taken);
}

}  // namespace tutti::client
