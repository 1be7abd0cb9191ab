#include "client/array/device_texture.h"

#include <algorithm>
#include <limits>

#include "client/array/array.h"
#include "client/array/mipmapped_array.h"
#include "client/array/texture_resource.h"
#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/session/attachment.h"
#include "wire/arrays.h"

namespace tutti::client {
namespace {

using namespace tutti::cuda;
using wire::TextureCreateBody;
using wire::TextureKind;

int SetArray(TextureCreateBody& body, const Array* array, TextureKind kind) {
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  body.address = array->address();
  body.kind = kind;
  return CUDA_SUCCESS;
}

int SetResource(TextureCreateBody& body, const CUDA_RESOURCE_DESC& resource) {
  if (resource.flags != 0) return CUDA_ERROR_INVALID_VALUE;
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY: return SetArray(body, Array::Find(resource.res.array.hArray), TextureKind::kArray);
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: {
      const MipmappedArray* const array = MipmappedArray::Find(resource.res.mipmap.hMipmappedArray);
      return SetArray(body, array != nullptr ? array->level(0) : nullptr, TextureKind::kLevels);
    }
    case CU_RESOURCE_TYPE_LINEAR: {
      const auto& linear = resource.res.linear;
      body.kind = TextureKind::kLinear;
      body.address = linear.devPtr;
      body.width = linear.sizeInBytes;
      body.format = linear.format;
      body.channels = linear.numChannels;
      return CUDA_SUCCESS;
    }
    case CU_RESOURCE_TYPE_PITCH2D: {
      const auto& pitched = resource.res.pitch2D;
      body.kind = TextureKind::kPitched;
      body.address = pitched.devPtr;
      body.width = pitched.width;
      body.height = pitched.height;
      body.pitch = pitched.pitchInBytes;
      body.format = pitched.format;
      body.channels = pitched.numChannels;
      return CUDA_SUCCESS;
    }
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

// Into a field that is as wide as what there is of it.
template <typename Field, typename Value>
int Set(Field& field, Value value) {
  if (value < 0 || static_cast<uint64_t>(value) > std::numeric_limits<Field>::max()) return CUDA_ERROR_INVALID_VALUE;
  field = static_cast<Field>(value);
  return CUDA_SUCCESS;
}

int SetSampling(TextureCreateBody& body, const CUDA_TEXTURE_DESC& sampling) {
  for (int i = 0; i < 3; ++i) CU_TRY(Set(body.address_mode[i], sampling.addressMode[i]));
  CU_TRY(Set(body.filter, sampling.filterMode));
  CU_TRY(Set(body.level_filter, sampling.mipmapFilterMode));
  body.flags = sampling.flags;
  body.most_anisotropy = sampling.maxAnisotropy;
  body.level_bias = sampling.mipmapLevelBias;
  body.level_least = sampling.minMipmapLevelClamp;
  body.level_most = sampling.maxMipmapLevelClamp;
  std::copy_n(sampling.borderColor, 4, body.border);
  return CUDA_SUCCESS;
}

int SetView(TextureCreateBody& body, const CUDA_RESOURCE_DESC& resource, const CUDA_RESOURCE_VIEW_DESC& view) {
  if (view.format == CU_RES_VIEW_FORMAT_NONE) return CUDA_SUCCESS;
  if (const auto array = ArraySeen(resource, view); !array) return array.error();
  body.view_format = view.format;
  CU_TRY(Set(body.view_first_level, view.firstMipmapLevel));
  CU_TRY(Set(body.view_last_level, view.lastMipmapLevel));
  CU_TRY(Set(body.view_first_layer, view.firstLayer));
  return Set(body.view_last_layer, view.lastLayer);
}

// It says no more of why: the device's driver does, in the server's log.
Answer<uint64_t> Ask(const TextureCreateBody& body) {
  const ipc::Reply reply = Attachment::Get().replies().Call(wire::RecordKind::kTextureCreate, body);
  return reply.status == 0 ? Answer<uint64_t>(reply.value[0]) : Refuse(reply.status);
}

void SubmitDestroy(uint64_t handle, AllocationKind kind) {
  Attachment::Get().ring().Submit(
      wire::RecordKind::kTextureDestroy, 0,
      wire::TextureDestroyBody{
          .texture = handle, .is_surface = kind == AllocationKind::kSurface ? 1u : 0u, .reserved = 0});
}

}  // namespace

DeviceTextures& DeviceTextures::Get() {
  static auto* const instance = new DeviceTextures;
  return *instance;
}

Answer<uint64_t> DeviceTextures::Create(Context& context, AllocationKind kind, const TextureRecord& record) {
  if (!context.device().Has(wire::kDeviceMakesArrays)) {
    return Refuse(Complain(CUDA_ERROR_NOT_SUPPORTED,
                           "textures are for programs with an executor of their own: TUTTI_ISOLATION=process or auto"));
  }
  TextureCreateBody body{};
  body.device = context.device().index();
  CU_TRY_OR_REFUSE(SetResource(body, record.resource));
  if (kind == AllocationKind::kSurface) {
    if (body.kind != TextureKind::kArray) return Refuse(CUDA_ERROR_INVALID_VALUE);
    body.kind = TextureKind::kSurface;
  } else {
    CU_TRY_OR_REFUSE(SetSampling(body, record.sampling));
    CU_TRY_OR_REFUSE(SetView(body, record.resource, record.view));
  }
  CU_ASSIGN_OR_REFUSE(const uint64_t handle, Ask(body));
  std::lock_guard lock(mutex_);
  objects_.insert_or_assign({kind, handle}, Object{.context = &context.owner(), .record = record});
  return handle;
}

bool DeviceTextures::Destroy(uint64_t handle, AllocationKind kind) {
  std::lock_guard lock(mutex_);
  if (objects_.erase({kind, handle}) == 0) return false;
  SubmitDestroy(handle, kind);
  return true;
}

std::optional<TextureRecord> DeviceTextures::Find(uint64_t handle, AllocationKind kind) const {
  std::lock_guard lock(mutex_);
  const auto found = objects_.find({kind, handle});
  return found != objects_.end() ? std::optional(found->second.record) : std::nullopt;
}

void DeviceTextures::DestroyAllOf(const Context& context) {
  std::lock_guard lock(mutex_);
  std::erase_if(objects_, [&](const auto& entry) {
    if (entry.second.context != &context) return false;
    SubmitDestroy(entry.first.second, entry.first.first);
    return true;
  });
}

void DeviceTextures::StartAgain() {
  std::lock_guard lock(mutex_);
  objects_.clear();
}

}  // namespace tutti::client
