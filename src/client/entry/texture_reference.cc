// Texture and surface references. A change waits for the work submitted so far, which may read the reference, and is
// what work submitted later reads.
#include "client/array/texture_reference.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "client/array/array.h"
#include "client/array/mipmapped_array.h"
#include "client/array/texture_resource.h"
#include "client/context/context.h"
#include "client/entry/entries.h"
#include "client/graph/capture.h"
#include "client/module/module.h"

namespace tutti::client::entry {
namespace {

using Kind = TextureReference::Kind;

TextureReference* Texture(CUtexref handle) { return TextureReference::Find(handle, Kind::kTexture); }

// Makes `changed` what kernels read.
CUresult Bind(TextureReference& reference, Kind kind, const TextureBinding& changed) {
  using Bytes = std::array<std::byte, sizeof(guest::Texture)>;
  const auto before = std::bit_cast<Bytes>(DescriptionOf(reference.binding(), kind));
  const auto after = std::bit_cast<Bytes>(DescriptionOf(changed, kind));
  if (reference.variable() != 0 && before != after) {
    CU_TRY(Capture::CheckUnsafe("changing a texture or surface reference"));
    CU_TRY(cuCtxSynchronize_v2(reference.context()->handle()));
    CU_TRY(cuMemcpyHtoD_v2(reference.variable(), after.data(), after.size()));
  }
  reference.Set(changed);
  return CUDA_SUCCESS;
}

// Applies change(binding), which answers like a driver function, to a texture reference.
template <typename Apply>
CUresult Change(CUtexref handle, Apply apply) {
  TextureReference* const reference = Texture(handle);
  if (reference == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  TextureBinding changed = reference->binding();
  CU_TRY(apply(changed));
  return Bind(*reference, Kind::kTexture, changed);
}

template <typename Value, typename Read>
CUresult Tell(Value* out, CUtexref handle, Read read) {
  const TextureReference* const reference = Texture(handle);
  if (reference == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = read(reference->binding());
  return CUDA_SUCCESS;
}

CUresult CheckTexels(const TextureBinding& binding) {
  const auto texels = DescribeTexels(binding.resource, {});
  return texels ? CUDA_SUCCESS : texels.error();
}

bool IsMode(CUaddress_mode mode) { return mode >= CU_TR_ADDRESS_MODE_WRAP && mode <= CU_TR_ADDRESS_MODE_BORDER; }
bool IsFilter(CUfilter_mode mode) { return mode == CU_TR_FILTER_MODE_POINT || mode == CU_TR_FILTER_MODE_LINEAR; }

template <typename Handle>
CUresult ReferenceIn(Handle* out, CUmodule handle, const char* name, module::Reference wanted, Kind kind) {
  if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Module* const module = Module::Find(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const module::VariableInfo* const variable = module->FindVariable(name);
  if (variable == nullptr || variable->reference != wanted || variable->bytes != sizeof(guest::Texture))
    return CUDA_ERROR_NOT_FOUND;
  CU_ASSIGN(TextureReference* const reference, TextureReference::Of(module->context(), variable->address, kind));
  *out = reinterpret_cast<Handle>(reference);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuModuleGetTexRef(CUtexref* out, CUmodule module, const char* name) {
  return ReferenceIn(out, module, name, module::Reference::kTexture, Kind::kTexture);
}
CUresult cuModuleGetSurfRef(CUsurfref* out, CUmodule module, const char* name) {
  return ReferenceIn(out, module, name, module::Reference::kSurface, Kind::kSurface);
}

CUresult cuTexRefCreate(CUtexref* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(TextureReference* const reference, TextureReference::Create());
  *out = reinterpret_cast<CUtexref>(reference);
  return CUDA_SUCCESS;
}
CUresult cuTexRefDestroy(CUtexref handle) {
  TextureReference* const reference = Texture(handle);
  return reference != nullptr ? TextureReference::Destroy(reference) : CUDA_ERROR_INVALID_HANDLE;
}

// --- What is bound.

CUresult cuTexRefSetArray(CUtexref handle, CUarray array, unsigned int flags) {
  if ((flags & ~CU_TRSA_OVERRIDE_FORMAT) != 0) return CUDA_ERROR_INVALID_VALUE;
  const Array* const found = Array::Find(array);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return Change(handle, [&](TextureBinding& binding) {
    binding.resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res = {}, .flags = 0};
    binding.resource.res.array.hArray = array;
    binding.format = found->descriptor().Format;
    binding.channels = found->descriptor().NumChannels;
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefSetMipmappedArray(CUtexref handle, CUmipmappedArray array, unsigned int flags) {
  if ((flags & ~CU_TRSA_OVERRIDE_FORMAT) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (MipmappedArray::Find(array) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return Change(handle, [&](TextureBinding& binding) {
    binding.resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, .res = {}, .flags = 0};
    binding.resource.res.mipmap.hMipmappedArray = array;
    return CUDA_SUCCESS;
  });
}

// Texels may begin at any address, so there is no offset.
CUresult cuTexRefSetAddress_v2(size_t* offset, CUtexref handle, CUdeviceptr address, size_t bytes) {
  CU_TRY(Change(handle, [&](TextureBinding& binding) -> CUresult {
    binding.resource = {.resType = TextureBinding::kNothing, .res = {}, .flags = 0};
    if (address == 0) return CUDA_SUCCESS;
    binding.resource.resType = CU_RESOURCE_TYPE_LINEAR;
    binding.resource.res.linear = {address, binding.format, binding.channels, bytes};
    return CheckTexels(binding);
  }));
  if (offset != nullptr) *offset = 0;
  return CUDA_SUCCESS;
}

CUresult cuTexRefSetAddress2D_v3(CUtexref handle, const CUDA_ARRAY_DESCRIPTOR* shape, CUdeviceptr address,
                                 size_t pitch) {
  if (shape == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Change(handle, [&](TextureBinding& binding) -> CUresult {
    binding.resource = {.resType = CU_RESOURCE_TYPE_PITCH2D, .res = {}, .flags = 0};
    binding.resource.res.pitch2D = {address, shape->Format, shape->NumChannels, shape->Width, shape->Height, pitch};
    binding.format = shape->Format;
    binding.channels = shape->NumChannels;
    return CheckTexels(binding);
  });
}

CUresult cuTexRefSetFormat(CUtexref handle, CUarray_format format, int channels) {
  if (ChannelBytes(format) == 0 || (channels != 1 && channels != 2 && channels != 4)) return CUDA_ERROR_INVALID_VALUE;
  return Change(handle, [&](TextureBinding& binding) {
    binding.format = format;
    binding.channels = static_cast<unsigned>(channels);
    if (binding.resource.resType == CU_RESOURCE_TYPE_LINEAR) {
      binding.resource.res.linear.format = format;
      binding.resource.res.linear.numChannels = binding.channels;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefGetArray(CUarray* out, CUtexref handle) {
  const TextureReference* const reference = Texture(handle);
  if (reference == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const TextureBinding binding = reference->binding();
  if (out == nullptr || binding.resource.resType != CU_RESOURCE_TYPE_ARRAY) return CUDA_ERROR_INVALID_VALUE;
  *out = binding.resource.res.array.hArray;
  return CUDA_SUCCESS;
}
CUresult cuTexRefGetMipmappedArray(CUmipmappedArray* out, CUtexref handle) {
  const TextureReference* const reference = Texture(handle);
  if (reference == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const TextureBinding binding = reference->binding();
  if (out == nullptr || binding.resource.resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) return CUDA_ERROR_INVALID_VALUE;
  *out = binding.resource.res.mipmap.hMipmappedArray;
  return CUDA_SUCCESS;
}
CUresult cuTexRefGetAddress_v2(CUdeviceptr* out, CUtexref handle) {
  const TextureReference* const reference = Texture(handle);
  if (reference == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const TextureBinding binding = reference->binding();
  const bool is_linear = binding.resource.resType == CU_RESOURCE_TYPE_LINEAR;
  if (out == nullptr || (!is_linear && binding.resource.resType != CU_RESOURCE_TYPE_PITCH2D))
    return CUDA_ERROR_INVALID_VALUE;
  *out = is_linear ? binding.resource.res.linear.devPtr : binding.resource.res.pitch2D.devPtr;
  return CUDA_SUCCESS;
}
CUresult cuTexRefGetFormat(CUarray_format* format, int* channels, CUtexref handle) {
  const TextureReference* const reference = Texture(handle);
  if (reference == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const TextureBinding binding = reference->binding();
  if (format != nullptr) *format = binding.format;
  if (channels != nullptr) *channels = static_cast<int>(binding.channels);
  return CUDA_SUCCESS;
}

// --- How it is read.

CUresult cuTexRefSetAddressMode(CUtexref handle, int axis, CUaddress_mode mode) {
  if (axis < 0 || axis > 2 || !IsMode(mode)) return CUDA_ERROR_INVALID_VALUE;
  return Change(handle, [&](TextureBinding& binding) {
    binding.sampling.addressMode[axis] = mode;
    return CUDA_SUCCESS;
  });
}
CUresult cuTexRefSetFilterMode(CUtexref handle, CUfilter_mode mode) {
  if (!IsFilter(mode)) return CUDA_ERROR_INVALID_VALUE;
  return Change(handle, [&](TextureBinding& binding) {
    binding.sampling.filterMode = mode;
    return CUDA_SUCCESS;
  });
}
CUresult cuTexRefSetFlags(CUtexref handle, unsigned int flags) {
  return Change(handle, [&](TextureBinding& binding) {
    binding.sampling.flags = flags;
    return CUDA_SUCCESS;
  });
}
CUresult cuTexRefSetMipmapFilterMode(CUtexref handle, CUfilter_mode mode) {
  if (!IsFilter(mode)) return CUDA_ERROR_INVALID_VALUE;
  return Change(handle, [&](TextureBinding& binding) {
    binding.sampling.mipmapFilterMode = mode;
    return CUDA_SUCCESS;
  });
}
CUresult cuTexRefSetMipmapLevelBias(CUtexref handle, float bias) {
  return Change(handle, [&](TextureBinding& binding) {
    binding.sampling.mipmapLevelBias = bias;
    return CUDA_SUCCESS;
  });
}
CUresult cuTexRefSetMipmapLevelClamp(CUtexref handle, float least, float most) {
  return Change(handle, [&](TextureBinding& binding) {
    binding.sampling.minMipmapLevelClamp = least;
    binding.sampling.maxMipmapLevelClamp = most;
    return CUDA_SUCCESS;
  });
}
CUresult cuTexRefSetMaxAnisotropy(CUtexref handle, unsigned int most) {
  return Change(handle, [&](TextureBinding& binding) {
    binding.sampling.maxAnisotropy = most;
    return CUDA_SUCCESS;
  });
}
CUresult cuTexRefSetBorderColor(CUtexref handle, float* color) {
  if (color == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Change(handle, [&](TextureBinding& binding) {
    std::memcpy(binding.sampling.borderColor, color, sizeof binding.sampling.borderColor);
    return CUDA_SUCCESS;
  });
}

CUresult cuTexRefGetAddressMode(CUaddress_mode* out, CUtexref handle, int axis) {
  if (axis < 0 || axis > 2) return CUDA_ERROR_INVALID_VALUE;
  return Tell(out, handle, [&](const TextureBinding& binding) { return binding.sampling.addressMode[axis]; });
}
CUresult cuTexRefGetFilterMode(CUfilter_mode* out, CUtexref handle) {
  return Tell(out, handle, [](const TextureBinding& binding) { return binding.sampling.filterMode; });
}
CUresult cuTexRefGetFlags(unsigned int* out, CUtexref handle) {
  return Tell(out, handle, [](const TextureBinding& binding) { return binding.sampling.flags; });
}
CUresult cuTexRefGetMipmapFilterMode(CUfilter_mode* out, CUtexref handle) {
  return Tell(out, handle, [](const TextureBinding& binding) { return binding.sampling.mipmapFilterMode; });
}
CUresult cuTexRefGetMipmapLevelBias(float* out, CUtexref handle) {
  return Tell(out, handle, [](const TextureBinding& binding) { return binding.sampling.mipmapLevelBias; });
}
CUresult cuTexRefGetMipmapLevelClamp(float* least, float* most, CUtexref handle) {
  CU_TRY(Tell(least, handle, [](const TextureBinding& binding) { return binding.sampling.minMipmapLevelClamp; }));
  return Tell(most, handle, [](const TextureBinding& binding) { return binding.sampling.maxMipmapLevelClamp; });
}
CUresult cuTexRefGetMaxAnisotropy(int* out, CUtexref handle) {
  return Tell(out, handle,
              [](const TextureBinding& binding) { return static_cast<int>(binding.sampling.maxAnisotropy); });
}
CUresult cuTexRefGetBorderColor(float* color, CUtexref handle) {
  const TextureReference* const reference = Texture(handle);
  if (reference == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (color == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const TextureBinding binding = reference->binding();
  std::memcpy(color, binding.sampling.borderColor, sizeof binding.sampling.borderColor);
  return CUDA_SUCCESS;
}

// --- Surface references.

CUresult cuSurfRefSetArray(CUsurfref handle, CUarray array, unsigned int flags) {
  TextureReference* const reference = TextureReference::Find(handle, Kind::kSurface);
  if (reference == nullptr || Array::Find(array) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  TextureBinding changed = reference->binding();
  changed.resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res = {}, .flags = 0};
  changed.resource.res.array.hArray = array;
  return Bind(*reference, Kind::kSurface, changed);
}

CUresult cuSurfRefGetArray(CUarray* out, CUsurfref handle) {
  const TextureReference* const reference = TextureReference::Find(handle, Kind::kSurface);
  if (reference == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const TextureBinding binding = reference->binding();
  if (out == nullptr || binding.resource.resType != CU_RESOURCE_TYPE_ARRAY) return CUDA_ERROR_INVALID_VALUE;
  *out = binding.resource.res.array.hArray;
  return CUDA_SUCCESS;
}

}  // namespace tutti::client::entry
