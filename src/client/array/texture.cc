#include "client/array/texture.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "client/array/array.h"
#include "client/array/device_texture.h"
#include "client/array/texture_resource.h"
#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/memory/memory.h"

namespace tutti::client {
namespace {

using namespace tutti::cuda;
using guest::AddressMode;
using guest::TexelKind;
using guest::Texture;

bool IsInteger(CUarray_format format) { return format != CU_AD_FORMAT_HALF && format != CU_AD_FORMAT_FLOAT; }

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

// What each byte of an sRGB texel is, linearly.
using SrgbTable = std::array<float, 256>;
const SrgbTable& FromSrgb() {
  static const SrgbTable table = [] {
    SrgbTable values{};
    for (size_t i = 0; i < values.size(); ++i) {
      const double x = static_cast<double>(i) / 255;
      values[i] = static_cast<float>(x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4));
    }
    return values;
  }();
  return table;
}

// sRGB is a property of bytes that are read as fractions; it means nothing for others, as in CUDA.
bool IsSrgb(const Texture& texture, const CUDA_TEXTURE_DESC& sampling) {
  return (sampling.flags & CU_TRSF_SRGB) != 0 && texture.kind == TexelKind::kUnsignedFraction &&
         texture.channel_bytes == 1;
}

Answer<uint64_t> Keep(Context& context, AllocationKind kind, TextureRecord record) {
  const bool is_srgb = IsSrgb(record.texture, record.sampling);
  CU_ASSIGN_OR_REFUSE(const uint64_t handle,
                      Allocate(context, kind, sizeof record + (is_srgb ? sizeof(SrgbTable) : 0)));
  if (is_srgb) {
    record.texture.from_srgb = handle + sizeof record;
    std::memcpy(reinterpret_cast<void*>(record.texture.from_srgb), &FromSrgb(), sizeof(SrgbTable));
  }
  std::memcpy(reinterpret_cast<void*>(handle), &record, sizeof record);
  return handle;
}

int Destroy(uint64_t handle, AllocationKind kind) {
  if (DeviceTextures::Get().Destroy(handle, kind)) return CUDA_SUCCESS;
  const auto taken = AllocationTable::Get().Take(handle, [=](const Allocation& a) { return a.kind == kind; });
  if (!taken) return CUDA_ERROR_INVALID_VALUE;
  ReturnMemory(*taken);
  return CUDA_SUCCESS;
}

Answer<TextureRecord> Find(uint64_t handle, AllocationKind kind) {
  if (const auto record = DeviceTextures::Get().Find(handle, kind)) return *record;
  const auto found = AllocationTable::Get().Find(handle);
  if (!found || found->kind != kind || found->address != handle) return Refuse(CUDA_ERROR_INVALID_VALUE);
  TextureRecord record;
  std::memcpy(&record, reinterpret_cast<const void*>(handle), sizeof record);
  return record;
}

bool IsMadeByDevice(const Context& context) { return context.device().Has(wire::kDeviceNoArrays); }

}  // namespace

Answer<uint64_t> CreateTexture(Context& context, const CUDA_RESOURCE_DESC& resource, const CUDA_TEXTURE_DESC& sampling,
                               const CUDA_RESOURCE_VIEW_DESC& view) {
  TextureRecord record{.texture = {}, .resource = resource, .sampling = sampling, .view = view};
  if (IsMadeByDevice(context)) return DeviceTextures::Get().Create(context, AllocationKind::kTexture, record);
  CU_ASSIGN_OR_REFUSE(record.texture, DescribeTexels(resource, view));
  CU_TRY_OR_REFUSE(SetSampling(record.texture, resource, FormatSeen(resource, view), sampling));
  return Keep(context, AllocationKind::kTexture, record);
}

Answer<uint64_t> CreateSurface(Context& context, const CUDA_RESOURCE_DESC& resource) {
  TextureRecord record{.texture = {}, .resource = resource, .sampling = {}, .view = {}};
  if (IsMadeByDevice(context)) return DeviceTextures::Get().Create(context, AllocationKind::kSurface, record);
  CU_ASSIGN_OR_REFUSE(record.texture, DescribeSurface(resource));
  return Keep(context, AllocationKind::kSurface, record);
}

Answer<Texture> DescribeTexture(const CUDA_RESOURCE_DESC& resource, const CUDA_TEXTURE_DESC& sampling) {
  CU_ASSIGN_OR_REFUSE(Texture texture, DescribeTexels(resource, {}));
  CU_TRY_OR_REFUSE(SetSampling(texture, resource, FormatSeen(resource, {}), sampling));
  if (IsSrgb(texture, sampling))
    return Refuse(Complain(CUDA_ERROR_NOT_SUPPORTED, "texture references of sRGB are not supported; objects are"));
  return texture;
}

Answer<Texture> DescribeSurface(const CUDA_RESOURCE_DESC& resource) {
  if (resource.resType != CU_RESOURCE_TYPE_ARRAY) return Refuse(CUDA_ERROR_INVALID_VALUE);
  return DescribeTexels(resource, {});
}

int DestroyTexture(uint64_t handle) { return Destroy(handle, AllocationKind::kTexture); }
int DestroySurface(uint64_t handle) { return Destroy(handle, AllocationKind::kSurface); }
Answer<TextureRecord> FindTexture(uint64_t handle) { return Find(handle, AllocationKind::kTexture); }
Answer<TextureRecord> FindSurface(uint64_t handle) { return Find(handle, AllocationKind::kSurface); }

}  // namespace tutti::client
