#include "client/array/texture.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "client/array/array.h"
#include "client/array/mipmapped_array.h"
#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/memory/memory.h"

namespace tutti::client {
namespace {

using namespace tutti::cuda;
using guest::AddressMode;
using guest::TexelKind;
using guest::Texture;

constexpr uint64_t kMostTexels = std::numeric_limits<int32_t>::max();  // of one dimension: coordinates are signed

bool IsInteger(CUarray_format format) { return format != CU_AD_FORMAT_HALF && format != CU_AD_FORMAT_FLOAT; }
bool IsSigned(CUarray_format format) {
  return format == CU_AD_FORMAT_SIGNED_INT8 || format == CU_AD_FORMAT_SIGNED_INT16 ||
         format == CU_AD_FORMAT_SIGNED_INT32;
}

int NotSupported(const char* what) { return Complain(CUDA_ERROR_NOT_SUPPORTED, "{} are not supported", what); }

int SetTexels(Texture& texture, CUarray_format format, unsigned channels) {
  texture.channels = channels;
  texture.channel_bytes = static_cast<uint32_t>(ChannelBytes(format));
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

// The array behind a texture, of a mipmapped one the first level; null if there is none.
const Array* ArrayOf(const CUDA_RESOURCE_DESC& resource) {
  if (resource.resType == CU_RESOURCE_TYPE_ARRAY) return Array::Find(resource.res.array.hArray);
  if (resource.resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) return nullptr;
  const MipmappedArray* array = MipmappedArray::Find(resource.res.mipmap.hMipmappedArray);
  return array != nullptr ? array->level(0) : nullptr;
}

CUarray_format FormatOf(const CUDA_RESOURCE_DESC& resource) {
  if (resource.resType == CU_RESOURCE_TYPE_LINEAR) return resource.res.linear.format;
  if (resource.resType == CU_RESOURCE_TYPE_PITCH2D) return resource.res.pitch2D.format;
  return ArrayOf(resource)->descriptor().Format;
}

int SetArray(Texture& texture, const Array* array) {
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const CUDA_ARRAY3D_DESCRIPTOR& shape = array->descriptor();
  const CopySide origin = array->At(0, 0, 0);
  texture.address = origin.address;
  texture.row_bytes = array->row_bytes();
  texture.plane_bytes = array->row_bytes() * array->rows();
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

// Integers of 8 and 16 bits are read as fractions unless asked for as integers.
void SetFractions(Texture& texture, unsigned flags) {
  const bool is_integer = texture.kind == TexelKind::kBits || texture.kind == TexelKind::kSigned;
  if (!is_integer || texture.channel_bytes == 4 || (flags & CU_TRSF_READ_AS_INTEGER) != 0) return;
  const bool is_signed = texture.kind == TexelKind::kSigned;
  const unsigned bits = 8 * texture.channel_bytes - (is_signed ? 1 : 0);
  texture.kind = is_signed ? TexelKind::kSignedFraction : TexelKind::kUnsignedFraction;
  texture.divisor = static_cast<float>((1u << bits) - 1);
}

// Wrap and mirror need normalised coordinates; else they mean clamp. Linear memory reads 0 outside.
AddressMode ModeOf(const CUDA_TEXTURE_DESC& sampling, int axis, bool is_linear_memory) {
  if (is_linear_memory) return AddressMode::kBorder;
  if ((sampling.flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0) return AddressMode::kClamp;  // modes are not for it
  const bool normalized = (sampling.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  const auto mode = static_cast<AddressMode>(sampling.addressMode[axis]);
  const bool repeats = mode == AddressMode::kWrap || mode == AddressMode::kMirror;
  return repeats && !normalized ? AddressMode::kClamp : mode;
}

// Between levels there is nothing to mix where texels are integers.
void SetLevelSampling(Texture& texture, const CUDA_TEXTURE_DESC& sampling, bool reads_integers) {
  texture.linear_levels = sampling.mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR && !reads_integers ? 1 : 0;
  texture.level_bias = sampling.mipmapLevelBias;
  texture.level_min = sampling.minMipmapLevelClamp;
  texture.level_max = sampling.maxMipmapLevelClamp;
  texture.level_address[0] = texture.address;
}

int SetSampling(Texture& texture, const CUDA_RESOURCE_DESC& resource, CUarray_format format,
                const CUDA_TEXTURE_DESC& sampling) {
  if ((sampling.flags & CU_TRSF_SRGB) != 0) return NotSupported("sRGB textures");
  const bool is_linear_memory = resource.resType == CU_RESOURCE_TYPE_LINEAR;
  const bool is_normalized = (sampling.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  if (resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY && !is_normalized) {
    return Complain(CUDA_ERROR_INVALID_VALUE, "a texture of a mipmapped array needs normalized coordinates");
  }
  for (int i = 0; i < 3; ++i) {
    if (sampling.addressMode[i] < CU_TR_ADDRESS_MODE_WRAP || sampling.addressMode[i] > CU_TR_ADDRESS_MODE_BORDER)
      return CUDA_ERROR_INVALID_VALUE;
    texture.mode[i] = ModeOf(sampling, i, is_linear_memory);
  }
  if ((sampling.flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0) {
    const Array* array = ArrayOf(resource);
    if (array == nullptr || (array->descriptor().Flags & CUDA_ARRAY3D_CUBEMAP) == 0)
      return Complain(CUDA_ERROR_INVALID_VALUE, "CU_TRSF_SEAMLESS_CUBEMAP is for textures of cube maps");
    texture.seamless = 1;
  }
  SetFractions(texture, sampling.flags);
  const bool reads_integers =
      texture.kind == TexelKind::kSigned || (texture.kind == TexelKind::kBits && IsInteger(format));
  texture.linear = sampling.filterMode == CU_TR_FILTER_MODE_LINEAR && !reads_integers && !is_linear_memory ? 1 : 0;
  texture.normalized = is_normalized ? 1 : 0;
  SetLevelSampling(texture, sampling, reads_integers);
  for (int i = 0; i < 4 && !is_linear_memory; ++i) {
    const float color = sampling.borderColor[i];
    const float integer = color >= -2147483648.0f && color < 2147483648.0f ? color : 0;
    texture.border[i] =
        reads_integers ? static_cast<uint32_t>(static_cast<int32_t>(integer)) : std::bit_cast<uint32_t>(color);
  }
  return CUDA_SUCCESS;
}

Answer<uint64_t> Keep(Context& context, AllocationKind kind, const TextureRecord& record) {
  CU_ASSIGN_OR_REFUSE(const uint64_t handle, Allocate(context, kind, sizeof record));
  std::memcpy(reinterpret_cast<void*>(handle), &record, sizeof record);
  return handle;
}

int Destroy(uint64_t handle, AllocationKind kind) {
  const auto taken = AllocationTable::Get().Take(handle, [=](const Allocation& a) { return a.kind == kind; });
  if (!taken) return CUDA_ERROR_INVALID_VALUE;
  ReturnMemory(*taken);
  return CUDA_SUCCESS;
}

Answer<TextureRecord> Find(uint64_t handle, AllocationKind kind) {
  const auto found = AllocationTable::Get().Find(handle);
  if (!found || found->kind != kind || found->address != handle) return Refuse(CUDA_ERROR_INVALID_VALUE);
  TextureRecord record;
  std::memcpy(&record, reinterpret_cast<const void*>(handle), sizeof record);
  return record;
}

}  // namespace

Answer<uint64_t> CreateTexture(Context& context, const CUDA_RESOURCE_DESC& resource,
                               const CUDA_TEXTURE_DESC& sampling) {
  TextureRecord record{.texture = {}, .resource = resource, .sampling = sampling};
  record.texture.levels = 1;
  CU_TRY_OR_REFUSE(SetResource(record.texture, resource));
  CU_TRY_OR_REFUSE(SetSampling(record.texture, resource, FormatOf(resource), sampling));
  return Keep(context, AllocationKind::kTexture, record);
}

Answer<uint64_t> CreateSurface(Context& context, const CUDA_RESOURCE_DESC& resource) {
  if (resource.resType != CU_RESOURCE_TYPE_ARRAY) return Refuse(CUDA_ERROR_INVALID_VALUE);
  TextureRecord record{.texture = {}, .resource = resource, .sampling = {}};
  record.texture.levels = 1;
  CU_TRY_OR_REFUSE(SetResource(record.texture, resource));
  return Keep(context, AllocationKind::kSurface, record);
}

int DestroyTexture(uint64_t handle) { return Destroy(handle, AllocationKind::kTexture); }
int DestroySurface(uint64_t handle) { return Destroy(handle, AllocationKind::kSurface); }
Answer<TextureRecord> FindTexture(uint64_t handle) { return Find(handle, AllocationKind::kTexture); }
Answer<TextureRecord> FindSurface(uint64_t handle) { return Find(handle, AllocationKind::kSurface); }

}  // namespace tutti::client
