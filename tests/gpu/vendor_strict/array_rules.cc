// Rules: cuda.h of CUDA 13.0, at the functions that are named.
#include "vendor_strict/array_rules.h"

#include <algorithm>

#include "cuda/array_format.h"
#include "cuda/device_attribute.h"
#include "vendor_strict/breach.h"
#include "vendor_strict/memory_rules.h"
#include "vendor_strict/true_driver.h"

namespace tutti::gpu::strict {

using namespace cuda;

namespace {

uint64_t DeviceAttribute(int number) {
  int value = 0;
  True().cuDeviceGetAttribute(&value, number, 0);
  return static_cast<uint64_t>(value);
}

uint64_t Halved(uint64_t extent, unsigned level) { return std::max<uint64_t>(extent >> level, 1); }

}  // namespace

ArrayRules& ArrayRules::Get() {
  static auto* const rules = new ArrayRules;
  return *rules;
}

ArrayRules::Array ArrayRules::Of(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned level) {
  const uint64_t element = TexelBytes(shape.Format, shape.NumChannels);
  const bool layered = (shape.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  return {.row_bytes = Halved(shape.Width, level) * element,
          .rows = Halved(shape.Height, level),
          .planes = layered ? std::max<uint64_t>(shape.Depth, 1) : Halved(shape.Depth, level),
          .element_bytes = element,
          .of_surfaces = (shape.Flags & CUDA_ARRAY3D_SURFACE_LDST) != 0};
}

int ArrayRules::CheckAlive(const char* call, bool is_alive) {
  return is_alive ? static_cast<int>(CUDA_SUCCESS) : Breach("handles-are-alive", CUDA_ERROR_INVALID_HANDLE, call);
}

int ArrayRules::Create(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
  const CUresult created = True().cuArray3DCreate_v2(out, shape);
  const std::lock_guard lock(mutex_);
  if (created == CUDA_SUCCESS) arrays_[*out] = Of(*shape, 0);
  return created;
}

// Levels end with the array that they are of.
int ArrayRules::Destroy(CUarray array) {
  const std::lock_guard lock(mutex_);
  const auto found = arrays_.find(array);
  if (const int gone = CheckAlive("cuArrayDestroy", found != arrays_.end() && found->second.whole == nullptr))
    return gone;
  arrays_.erase(found);
  return True().cuArrayDestroy(array);
}

int ArrayRules::CreateMipmapped(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* shape, unsigned levels) {
  const CUresult created = True().cuMipmappedArrayCreate(out, shape, levels);
  const std::lock_guard lock(mutex_);
  if (created == CUDA_SUCCESS) mipmapped_[*out] = *shape;
  return created;
}

int ArrayRules::GetLevel(CUarray* out, CUmipmappedArray array, unsigned level) {
  const std::lock_guard lock(mutex_);
  const auto found = mipmapped_.find(array);
  if (const int gone = CheckAlive("cuMipmappedArrayGetLevel", found != mipmapped_.end())) return gone;
  const CUresult got = True().cuMipmappedArrayGetLevel(out, array, level);
  if (got != CUDA_SUCCESS) return got;
  Array& known = arrays_[*out] = Of(found->second, level);
  known.whole = array;
  return got;
}

int ArrayRules::DestroyMipmapped(CUmipmappedArray array) {
  const std::lock_guard lock(mutex_);
  if (const int gone = CheckAlive("cuMipmappedArrayDestroy", mipmapped_.erase(array) != 0)) return gone;
  std::erase_if(arrays_, [array](const auto& entry) { return entry.second.whole == array; });
  return True().cuMipmappedArrayDestroy(array);
}

int ArrayRules::CheckSide(const Side& side, const CUDA_MEMCPY3D& copy, bool writes) {
  const char* const call = "cuMemcpy3DAsync";
  if (side.type == CU_MEMORYTYPE_ARRAY) {
    const auto found = arrays_.find(side.array);
    if (const int gone = CheckAlive(call, found != arrays_.end())) return gone;
    const Array& array = found->second;
    // A place in an array is that of an element.
    if (side.x % array.element_bytes != 0 || copy.WidthInBytes % array.element_bytes != 0)
      return Breach("boxes-are-of-whole-elements", CUDA_ERROR_INVALID_VALUE, call);
    const bool is_inside = side.x + copy.WidthInBytes <= array.row_bytes && side.y + copy.Height <= array.rows &&
                           side.z + copy.Depth <= array.planes;
    return is_inside ? static_cast<int>(CUDA_SUCCESS)
                     : Breach("boxes-lie-in-their-arrays", CUDA_ERROR_INVALID_VALUE, call);
  }
  // The box lies within the pitch and the height that are given.
  if (side.type != CU_MEMORYTYPE_UNIFIED || side.pitch < copy.WidthInBytes + side.x ||
      side.height < copy.Height + side.y || side.pitch > DeviceAttribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH))
    return Breach("boxes-of-memory-have-a-pitch-and-a-height", CUDA_ERROR_INVALID_VALUE, call);
  const uint64_t reach =
      copy.WidthInBytes + (copy.Height - 1) * side.pitch + (copy.Depth - 1) * side.pitch * side.height;
  return MemoryRules::Get().CheckCopy(call, side.address, reach, writes);
}

int ArrayRules::Copy(const CUDA_MEMCPY3D* copy, CUstream stream) {
  const std::lock_guard lock(mutex_);
  if (copy->WidthInBytes != 0 && copy->Height != 0 && copy->Depth != 0) {
    const Side to{copy->dstXInBytes, copy->dstY,     copy->dstZ,     copy->dstMemoryType,
                  copy->dstDevice,   copy->dstArray, copy->dstPitch, copy->dstHeight};
    const Side from{copy->srcXInBytes, copy->srcY,     copy->srcZ,     copy->srcMemoryType,
                    copy->srcDevice,   copy->srcArray, copy->srcPitch, copy->srcHeight};
    if (const int refused = CheckSide(to, *copy, true)) return refused;
    if (const int refused = CheckSide(from, *copy, false)) return refused;
  }
  return True().cuMemcpy3DAsync_v2(copy, stream);
}

int ArrayRules::CreateTexture(CUtexObject* out, const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC* sampling,
                              const CUDA_RESOURCE_VIEW_DESC* view) {
  const char* const call = "cuTexObjectCreate";
  const std::lock_guard lock(mutex_);
  const auto& of = resource->res;
  if (resource->resType == CU_RESOURCE_TYPE_ARRAY) {
    if (const int gone = CheckAlive(call, arrays_.contains(of.array.hArray))) return gone;
  } else if (resource->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
    if (const int gone = CheckAlive(call, mipmapped_.contains(of.mipmap.hMipmappedArray))) return gone;
  } else {
    // Addresses and pitches are aligned (CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT and _TEXTURE_PITCH_ALIGNMENT).
    const bool is_linear = resource->resType == CU_RESOURCE_TYPE_LINEAR;
    const uint64_t address = is_linear ? of.linear.devPtr : of.pitch2D.devPtr;
    const uint64_t pitch = is_linear ? 0 : of.pitch2D.pitchInBytes;
    if (address % DeviceAttribute(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT) != 0 ||
        pitch % DeviceAttribute(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT) != 0)
      return Breach("textures-of-memory-are-aligned", CUDA_ERROR_INVALID_VALUE, call);
  }
  const CUresult created = True().cuTexObjectCreate(out, resource, sampling, view);
  if (created == CUDA_SUCCESS) textures_.insert(*out);
  return created;
}

int ArrayRules::DestroyTexture(CUtexObject texture) {
  const std::lock_guard lock(mutex_);
  if (const int gone = CheckAlive("cuTexObjectDestroy", textures_.erase(texture) != 0)) return gone;
  return True().cuTexObjectDestroy(texture);
}

// Without CUDA_ARRAY3D_SURFACE_LDST an array is no surface.
int ArrayRules::CreateSurface(CUsurfObject* out, const CUDA_RESOURCE_DESC* resource) {
  const std::lock_guard lock(mutex_);
  const auto found =
      resource->resType == CU_RESOURCE_TYPE_ARRAY ? arrays_.find(resource->res.array.hArray) : arrays_.end();
  if (const int gone = CheckAlive("cuSurfObjectCreate", found != arrays_.end())) return gone;
  if (!found->second.of_surfaces)
    return Breach("surfaces-are-of-arrays-made-for-them", CUDA_ERROR_INVALID_VALUE, "cuSurfObjectCreate");
  const CUresult created = True().cuSurfObjectCreate(out, resource);
  if (created == CUDA_SUCCESS) surfaces_.insert(*out);
  return created;
}

int ArrayRules::DestroySurface(CUsurfObject surface) {
  const std::lock_guard lock(mutex_);
  if (const int gone = CheckAlive("cuSurfObjectDestroy", surfaces_.erase(surface) != 0)) return gone;
  return True().cuSurfObjectDestroy(surface);
}

}  // namespace tutti::gpu::strict
