#include "executor/arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "cuda/array_format.h"

namespace tutti::executor {
namespace {

using namespace cuda;
using wire::TextureKind;

CUDA_TEXTURE_DESC SamplingOf(const wire::TextureCreateBody& texture) {
  CUDA_TEXTURE_DESC sampling{};
  std::copy_n(texture.address_mode, 3, sampling.addressMode);
  sampling.filterMode = texture.filter;
  sampling.flags = texture.flags;
  sampling.maxAnisotropy = texture.most_anisotropy;
  sampling.mipmapFilterMode = texture.level_filter;
  sampling.mipmapLevelBias = texture.level_bias;
  sampling.minMipmapLevelClamp = texture.level_least;
  sampling.maxMipmapLevelClamp = texture.level_most;
  std::copy_n(texture.border, 4, sampling.borderColor);
  return sampling;
}

CUDA_RESOURCE_VIEW_DESC ViewOf(const wire::TextureCreateBody& texture, const wire::ArrayLevel& level) {
  CUDA_RESOURCE_VIEW_DESC view{};
  view.format = texture.view_format;
  view.width = level.width;
  view.height = level.height;
  view.depth = level.depth;
  view.firstMipmapLevel = texture.view_first_level;
  view.lastMipmapLevel = texture.view_last_level;
  view.firstLayer = texture.view_first_layer;
  view.lastLayer = texture.view_last_layer;
  return view;
}

}  // namespace

std::shared_ptr<const Arrays::Array> Arrays::Find(uint64_t address) const {
  std::lock_guard lock(mutex_);
  const auto behind = arrays_.upper_bound(address);
  if (behind == arrays_.begin()) return nullptr;
  const auto& [begin, array] = *std::prev(behind);
  return address - begin < array->layout.bytes() ? array : nullptr;
}

Status Arrays::Create(uint64_t address, const wire::ArrayShape& shape) {
  const auto layout = wire::ArrayLayout::Of(shape, TexelBytes(shape.format, shape.channels));
  if (!layout) return tutti::Fail(CUDA_ERROR_INVALID_VALUE, "an array of a shape that there is not");
  const auto array = std::make_shared<Array>(Array{.address = address, .shape = shape, .layout = *layout});
  TUTTI_TRY(Make(*array));
  std::unique_lock lock(mutex_);
  any_.store(true, std::memory_order_relaxed);
  if (arrays_.emplace(address, array).second) return {};
  lock.unlock();
  (void)Free(*array);
  return tutti::Fail(CUDA_ERROR_INVALID_VALUE, fmt::format("an array at {:#x}, where there is one", address));
}

Status Arrays::Make(Array& array) const {
  const wire::ArrayShape& shape = array.shape;
  const CUDA_ARRAY3D_DESCRIPTOR descriptor{.Width = shape.width,
                                           .Height = shape.height,
                                           .Depth = shape.depth,
                                           .Format = shape.format,
                                           .NumChannels = shape.channels,
                                           .Flags = shape.flags};
  array.levels.resize(shape.levels);
  if (shape.mipmapped == 0)
    return vendor_.Check(vendor_.cuArray3DCreate_v2(array.levels.data(), &descriptor), "cuArray3DCreate");
  TUTTI_TRY(vendor_.Check(vendor_.cuMipmappedArrayCreate(&array.mipmapped, &descriptor, shape.levels),
                          "cuMipmappedArrayCreate"));
  for (uint32_t i = 0; i < shape.levels; ++i) {
    const Status got = vendor_.Check(vendor_.cuMipmappedArrayGetLevel(&array.levels[i], array.mipmapped, i),
                                     "cuMipmappedArrayGetLevel");
    if (got) continue;
    (void)Free(array);
    return got;
  }
  return {};
}

Status Arrays::Free(const Array& array) const {
  if (array.mipmapped != nullptr)
    return vendor_.Check(vendor_.cuMipmappedArrayDestroy(array.mipmapped), "cuMipmappedArrayDestroy");
  return vendor_.Check(vendor_.cuArrayDestroy(array.levels[0]), "cuArrayDestroy");
}

Status Arrays::Destroy(uint64_t address) {
  std::unique_lock lock(mutex_);
  const auto array = arrays_.extract(address);
  lock.unlock();
  if (array) return Free(*array.mapped());
  return tutti::Fail(CUDA_ERROR_INVALID_VALUE, fmt::format("no array begins at {:#x}", address));
}

tutti::Result<CUDA_RESOURCE_DESC> Arrays::ResourceOf(const wire::TextureCreateBody& texture,
                                                     const std::shared_ptr<const Array>& array) const {
  CUDA_RESOURCE_DESC resource{};
  switch (texture.kind) {
    case TextureKind::kLinear:
      resource.resType = CU_RESOURCE_TYPE_LINEAR;
      resource.res.linear = {texture.address, texture.format, texture.channels, texture.width};
      return resource;
    case TextureKind::kPitched:
      resource.resType = CU_RESOURCE_TYPE_PITCH2D;
      resource.res.pitch2D = {texture.address, texture.format, texture.channels,
                              texture.width,   texture.height, texture.pitch};
      return resource;
    default: break;
  }
  const auto level = array != nullptr ? array->layout.LevelAt(texture.address - array->address) : std::nullopt;
  if (!level)
    return tutti::Fail(CUDA_ERROR_INVALID_HANDLE, fmt::format("no array or level begins at {:#x}", texture.address));
  if (texture.kind == TextureKind::kLevels) {
    if (array->mipmapped == nullptr || *level != 0)
      return tutti::Fail(CUDA_ERROR_INVALID_HANDLE, fmt::format("the array at {:#x} has no levels", texture.address));
    resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    resource.res.mipmap = {array->mipmapped};
  } else {
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array = {array->levels[*level]};
  }
  return resource;
}

tutti::Result<uint64_t> Arrays::CreateTexture(const wire::TextureCreateBody& texture) {
  const std::shared_ptr<const Array> array = Find(texture.address);
  TUTTI_ASSIGN(const CUDA_RESOURCE_DESC resource, ResourceOf(texture, array));
  const bool is_surface = texture.kind == TextureKind::kSurface;
  unsigned long long number = 0;
  if (is_surface) {
    TUTTI_TRY(vendor_.Check(vendor_.cuSurfObjectCreate(&number, &resource), "cuSurfObjectCreate"));
  } else {
    const CUDA_TEXTURE_DESC sampling = SamplingOf(texture);
    const auto level = array != nullptr ? array->layout.LevelAt(texture.address - array->address) : std::nullopt;
    const CUDA_RESOURCE_VIEW_DESC view =
        level ? ViewOf(texture, array->layout.Level(*level)) : CUDA_RESOURCE_VIEW_DESC{};
    TUTTI_TRY(vendor_.Check(
        vendor_.cuTexObjectCreate(&number, &resource, &sampling, texture.view_format != 0 ? &view : nullptr),
        "cuTexObjectCreate"));
  }
  std::lock_guard lock(mutex_);
  textures_.emplace(number, is_surface);
  return number;
}

Status Arrays::Free(const Texture& texture) const {
  const auto [number, is_surface] = texture;
  if (is_surface) return vendor_.Check(vendor_.cuSurfObjectDestroy(number), "cuSurfObjectDestroy");
  return vendor_.Check(vendor_.cuTexObjectDestroy(number), "cuTexObjectDestroy");
}

Status Arrays::DestroyTexture(uint64_t number, bool is_surface) {
  std::unique_lock lock(mutex_);
  const auto texture = textures_.extract({number, is_surface});
  lock.unlock();
  if (texture) return Free(texture.value());
  return tutti::Fail(CUDA_ERROR_INVALID_VALUE, fmt::format("there is no texture {:#x}", number));
}

Status Arrays::DestroyAll() {
  std::lock_guard lock(mutex_);
  Status first;
  const auto note = [&first](const Status& freed) {
    if (!freed && first) first = freed;
  };
  for (const Texture& texture : std::exchange(textures_, {})) note(Free(texture));
  for (const auto& [address, array] : std::exchange(arrays_, {})) note(Free(*array));
  return first;
}

tutti::Result<Arrays::Side> Arrays::SideAt(uint64_t address, wire::ArrayLayout::Rows rows) const {
  Side side{.array = Find(address), .address = address, .pitch = rows.pitch, .plane = rows.plane};
  if (side.array != nullptr) {
    rows.offset = address - side.array->address;
    const auto box = side.array->layout.Find(rows);
    if (!box)
      return tutti::Fail(CUDA_ERROR_INVALID_VALUE, fmt::format("a copy at {:#x} that is no box of an array", address));
    side.box = *box;
    return side;
  }
  if (rows.rows == 1 && rows.planes == 1) side.pitch = rows.row_bytes;
  side.height = rows.rows;
  if (rows.planes == 1) return side;
  const bool is_whole = side.pitch != 0 && side.plane % side.pitch == 0 && side.plane / side.pitch >= rows.rows;
  if (is_whole)
    side.height = side.plane / side.pitch;
  else
    side.by_planes = true;
  return side;
}

Status Arrays::Copy(CUstream stream, const wire::CopyBody& copy) const {
  TUTTI_ASSIGN(const Side to, SideAt(copy.destination, wire::DestinationRowsOf(copy)));
  TUTTI_ASSIGN(const Side from, SideAt(copy.source, wire::SourceRowsOf(copy)));
  const bool by_planes = to.by_planes || from.by_planes;
  for (uint64_t plane = 0; plane < (by_planes ? copy.planes : 1); ++plane) {
    CUDA_MEMCPY3D box{};
    box.WidthInBytes = copy.row_bytes;
    box.Height = copy.rows;
    box.Depth = by_planes ? 1 : copy.planes;
    if (to.array != nullptr) {
      box.dstMemoryType = CU_MEMORYTYPE_ARRAY;
      box.dstArray = to.array->levels[to.box.level];
      box.dstXInBytes = to.box.x_bytes;
      box.dstY = to.box.y;
      box.dstZ = to.box.z + plane;
    } else {
      box.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
      box.dstDevice = to.address + plane * to.plane;
      box.dstPitch = to.pitch;
      box.dstHeight = to.height;
    }
    if (from.array != nullptr) {
      box.srcMemoryType = CU_MEMORYTYPE_ARRAY;
      box.srcArray = from.array->levels[from.box.level];
      box.srcXInBytes = from.box.x_bytes;
      box.srcY = from.box.y;
      box.srcZ = from.box.z + plane;
    } else {
      box.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
      box.srcDevice = from.address + plane * from.plane;
      box.srcPitch = from.pitch;
      box.srcHeight = from.height;
    }
    TUTTI_TRY(vendor_.Check(vendor_.cuMemcpy3DAsync_v2(&box, stream), "cuMemcpy3DAsync"));
  }
  return {};
}

}  // namespace tutti::executor
