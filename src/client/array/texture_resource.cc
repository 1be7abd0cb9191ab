#include "client/array/texture_resource.h"

#include <algorithm>
#include <limits>

#include "client/array/array.h"
#include "client/array/mipmapped_array.h"
#include "client/base/complaint.h"
#include "cuda/array_format.h"

namespace tutti::client {
namespace {

using namespace tutti::cuda;
using guest::TexelKind;
using guest::Texture;

constexpr uint64_t kMostTexels = std::numeric_limits<int32_t>::max();  // of one dimension: coordinates are signed

bool IsSigned(CUarray_format format) {
  return format == CU_AD_FORMAT_SIGNED_INT8 || format == CU_AD_FORMAT_SIGNED_INT16 ||
         format == CU_AD_FORMAT_SIGNED_INT32;
}

int SetTexels(Texture& texture, CUarray_format format, unsigned channels) {
  texture.channels = channels;
  texture.channel_bytes = ChannelBytes(format);
  texture.texel_bytes = texture.channel_bytes * channels;
  if (texture.channel_bytes == 0 || (channels != 1 && channels != 2 && channels != 4)) return CUDA_ERROR_INVALID_VALUE;
  texture.kind = format == CU_AD_FORMAT_HALF ? TexelKind::kHalf
                 : IsSigned(format)          ? TexelKind::kSigned
                                             : TexelKind::kBits;
  return CUDA_SUCCESS;
}

int SetExtent(Texture& texture, uint64_t width, uint64_t height, uint64_t depth) {
  const uint64_t extent[3] = {width, std::max<uint64_t>(height, 1), std::max<uint64_t>(depth, 1)};
  for (int i = 0; i < 3; ++i) {
    if (extent[i] == 0 || extent[i] > kMostTexels) return CUDA_ERROR_INVALID_VALUE;
    texture.extent[i] = static_cast<uint32_t>(extent[i]);
  }
  return CUDA_SUCCESS;
}

int SetArray(Texture& texture, const Array* array) {
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const CUDA_ARRAY3D_DESCRIPTOR& shape = array->descriptor();
  const CopySide origin = array->At(0, 0, 0);
  texture.address = origin.address;
  texture.row_bytes = array->row_bytes();
  texture.plane_bytes = array->row_bytes() * array->rows();
  if ((shape.Flags & CUDA_ARRAY3D_LAYERED) != 0) texture.planes |= guest::kPlanesAreLayers;
  if ((shape.Flags & CUDA_ARRAY3D_CUBEMAP) != 0) texture.planes |= guest::kPlanesAreFaces;
  CU_TRY(SetTexels(texture, shape.Format, shape.NumChannels));
  return SetExtent(texture, shape.Width, shape.Height, shape.Depth);
}

int SetLevels(Texture& texture, const MipmappedArray* array) {
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CU_TRY(SetArray(texture, array->level(0)));
  texture.levels = array->levels();
  for (unsigned i = 0; i < array->levels(); ++i) texture.level_address[i] = array->level(i)->At(0, 0, 0).address;
  return CUDA_SUCCESS;
}

// Location and format of the texels.
int SetResource(Texture& texture, const CUDA_RESOURCE_DESC& resource) {
  if (resource.flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (resource.resType == CU_RESOURCE_TYPE_ARRAY) return SetArray(texture, ArrayOf(resource));
  if (resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
    return SetLevels(texture, MipmappedArray::Find(resource.res.mipmap.hMipmappedArray));
  if (resource.resType == CU_RESOURCE_TYPE_LINEAR) {
    const auto& linear = resource.res.linear;
    CU_TRY(SetTexels(texture, linear.format, linear.numChannels));
    texture.address = linear.devPtr;
    return SetExtent(texture, linear.sizeInBytes / texture.texel_bytes, 1, 1);
  }
  if (resource.resType != CU_RESOURCE_TYPE_PITCH2D) return CUDA_ERROR_INVALID_VALUE;
  const auto& pitched = resource.res.pitch2D;
  CU_TRY(SetTexels(texture, pitched.format, pitched.numChannels));
  texture.address = pitched.devPtr;
  texture.row_bytes = pitched.pitchInBytes;
  CU_TRY(SetExtent(texture, pitched.width, pitched.height, 1));
  return pitched.width * texture.texel_bytes <= pitched.pitchInBytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// --- Views of arrays: another format of as many bytes, some of the levels, some of the layers.

struct ViewFormat {
  CUarray_format format;
  unsigned channels;
};

// CU_RES_VIEW_FORMAT_UINT_1X8 is 1; from there each format with one, two and four channels.
constexpr CUarray_format kViewFormats[] = {
    CU_AD_FORMAT_UNSIGNED_INT8,  CU_AD_FORMAT_SIGNED_INT8,  CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_SIGNED_INT16,
    CU_AD_FORMAT_UNSIGNED_INT32, CU_AD_FORMAT_SIGNED_INT32, CU_AD_FORMAT_HALF,           CU_AD_FORMAT_FLOAT,
};
constexpr int kViewFormatCount = 3 * static_cast<int>(std::size(kViewFormats));

// `format`: from 1 to kViewFormatCount.
ViewFormat ViewFormatOf(int format) {
  constexpr unsigned kChannels[] = {1, 2, 4};
  return {kViewFormats[(format - 1) / 3], kChannels[(format - 1) % 3]};
}

int SetViewFormat(Texture& texture, int format) {
  if (format == CU_RES_VIEW_FORMAT_NONE) return CUDA_SUCCESS;
  if (format < 0 || format > CU_RES_VIEW_FORMAT_UNSIGNED_BC7) return CUDA_ERROR_INVALID_VALUE;
  if (format > kViewFormatCount)
    return Complain(CUDA_ERROR_NOT_SUPPORTED, "block-compressed views of textures are not supported");
  const ViewFormat seen = ViewFormatOf(format);
  const uint32_t bytes = texture.texel_bytes;
  CU_TRY(SetTexels(texture, seen.format, seen.channels));
  if (texture.texel_bytes == bytes) return CUDA_SUCCESS;
  return Complain(CUDA_ERROR_INVALID_VALUE, "the view's texels have {} bytes, the array's {}", texture.texel_bytes,
                  bytes);
}

int SetViewLayers(Texture& texture, const Array* const (&levels)[guest::kMostLevels],
                  const CUDA_RESOURCE_VIEW_DESC& view) {
  if ((texture.planes & guest::kPlanesAreLayers) == 0)
    return view.firstLayer == 0 && view.lastLayer == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  const uint32_t planes = (texture.planes & guest::kPlanesAreFaces) != 0 ? 6 : 1;
  if (view.firstLayer > view.lastLayer || view.lastLayer >= texture.extent[2] / planes) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < texture.levels; ++i)
    texture.level_address[i] = levels[i]->At(0, 0, uint64_t{view.firstLayer} * planes).address;
  texture.address = texture.level_address[0];
  texture.extent[2] = (view.lastLayer - view.firstLayer + 1) * planes;
  return CUDA_SUCCESS;
}

int SetView(Texture& texture, const CUDA_RESOURCE_DESC& resource, const CUDA_RESOURCE_VIEW_DESC& view) {
  CU_ASSIGN(const Array* const array, ArraySeen(resource, view));
  const Array* levels[guest::kMostLevels] = {array};
  if (resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
    const MipmappedArray* all = MipmappedArray::Find(resource.res.mipmap.hMipmappedArray);
    if (all == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (view.firstMipmapLevel > view.lastMipmapLevel || view.lastMipmapLevel >= all->levels())
      return CUDA_ERROR_INVALID_VALUE;
    const unsigned count = view.lastMipmapLevel - view.firstMipmapLevel + 1;
    for (unsigned i = 0; i < count; ++i) levels[i] = all->level(view.firstMipmapLevel + i);
    CU_TRY(SetArray(texture, levels[0]));
    texture.levels = count;
    for (unsigned i = 0; i < count; ++i) texture.level_address[i] = levels[i]->At(0, 0, 0).address;
  } else if (view.firstMipmapLevel != 0 || view.lastMipmapLevel != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CU_TRY(SetViewFormat(texture, view.format));
  return SetViewLayers(texture, levels, view);
}

}  // namespace

const Array* ArrayOf(const CUDA_RESOURCE_DESC& resource) {
  if (resource.resType == CU_RESOURCE_TYPE_ARRAY) return Array::Find(resource.res.array.hArray);
  if (resource.resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) return nullptr;
  const MipmappedArray* array = MipmappedArray::Find(resource.res.mipmap.hMipmappedArray);
  return array != nullptr ? array->level(0) : nullptr;
}

Answer<const Array*> ArraySeen(const CUDA_RESOURCE_DESC& resource, const CUDA_RESOURCE_VIEW_DESC& view) {
  const Array* const array = ArrayOf(resource);
  if (array == nullptr) return Refuse(Complain(CUDA_ERROR_INVALID_VALUE, "views are for textures of arrays"));
  const CUDA_ARRAY3D_DESCRIPTOR& shape = array->descriptor();
  if (view.width == shape.Width && view.height == shape.Height && view.depth == shape.Depth) return array;
  return Refuse(Complain(CUDA_ERROR_INVALID_VALUE, "the view is of {}x{}x{} texels, the array has {}x{}x{}", view.width,
                         view.height, view.depth, shape.Width, shape.Height, shape.Depth));
}

Answer<Texture> DescribeTexels(const CUDA_RESOURCE_DESC& resource, const CUDA_RESOURCE_VIEW_DESC& view) {
  Texture texture{};
  texture.levels = 1;
  CU_TRY_OR_REFUSE(SetResource(texture, resource));
  if (view.format != CU_RES_VIEW_FORMAT_NONE) CU_TRY_OR_REFUSE(SetView(texture, resource, view));
  return texture;
}

CUarray_format FormatSeen(const CUDA_RESOURCE_DESC& resource, const CUDA_RESOURCE_VIEW_DESC& view) {
  if (view.format > CU_RES_VIEW_FORMAT_NONE && view.format <= kViewFormatCount) return ViewFormatOf(view.format).format;
  if (resource.resType == CU_RESOURCE_TYPE_LINEAR) return resource.res.linear.format;
  if (resource.resType == CU_RESOURCE_TYPE_PITCH2D) return resource.res.pitch2D.format;
  const Array* const array = ArrayOf(resource);
  return array != nullptr ? array->descriptor().Format : 0;
}

}  // namespace tutti::client
