// The driver's ABI: texture and surface objects. Included by cuda/types.h, which has the common part.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::cuda {

using CUtexObject = unsigned long long;
using CUsurfObject = unsigned long long;

enum : int {
  CU_RESOURCE_TYPE_ARRAY = 0,
  CU_RESOURCE_TYPE_MIPMAPPED_ARRAY = 1,
  CU_RESOURCE_TYPE_LINEAR = 2,
  CU_RESOURCE_TYPE_PITCH2D = 3,
};
enum : int {
  CU_TR_ADDRESS_MODE_WRAP = 0,
  CU_TR_ADDRESS_MODE_CLAMP = 1,
  CU_TR_ADDRESS_MODE_MIRROR = 2,
  CU_TR_ADDRESS_MODE_BORDER = 3
};
enum : int { CU_TR_FILTER_MODE_POINT = 0, CU_TR_FILTER_MODE_LINEAR = 1 };
enum : unsigned {
  CU_TRSF_READ_AS_INTEGER = 0x1,
  CU_TRSF_NORMALIZED_COORDINATES = 0x2,
  CU_TRSF_SRGB = 0x10,
  CU_TRSF_SEAMLESS_CUBEMAP = 0x40
};
enum : int {
  CU_RES_VIEW_FORMAT_NONE = 0,
  CU_RES_VIEW_FORMAT_UINT_1X8 = 0x01,
  CU_RES_VIEW_FORMAT_UINT_4X8 = 0x03,
  CU_RES_VIEW_FORMAT_UINT_1X32 = 0x0d,
  CU_RES_VIEW_FORMAT_SINT_1X32 = 0x10,
  CU_RES_VIEW_FORMAT_FLOAT_1X32 = 0x16,
  CU_RES_VIEW_FORMAT_FLOAT_4X32 = 0x18,
  CU_RES_VIEW_FORMAT_UNSIGNED_BC1 = 0x19,
  CU_RES_VIEW_FORMAT_UNSIGNED_BC7 = 0x22,
};
enum : unsigned { CU_TRSA_OVERRIDE_FORMAT = 0x1 };

using CUaddress_mode = int;
using CUfilter_mode = int;
using CUtexref = struct CUtexref_st*;
using CUsurfref = struct CUsurfref_st*;

struct CUDA_RESOURCE_DESC {
  int resType;
  union {
    struct {
      CUarray hArray;
    } array;
    struct {
      CUmipmappedArray hMipmappedArray;
    } mipmap;
    struct {
      CUdeviceptr devPtr;
      CUarray_format format;
      unsigned numChannels;
      size_t sizeInBytes;
    } linear;
    struct {
      CUdeviceptr devPtr;
      CUarray_format format;
      unsigned numChannels;
      size_t width, height, pitchInBytes;
    } pitch2D;
    int reserved[32];
  } res;
  unsigned flags;
};

struct CUDA_TEXTURE_DESC {
  int addressMode[3];
  int filterMode;
  unsigned flags;
  unsigned maxAnisotropy;
  int mipmapFilterMode;
  float mipmapLevelBias;
  float minMipmapLevelClamp, maxMipmapLevelClamp;
  float borderColor[4];
  int reserved[12];
};

struct CUDA_RESOURCE_VIEW_DESC {
  int format;
  size_t width, height, depth;
  unsigned firstMipmapLevel, lastMipmapLevel;
  unsigned firstLayer, lastLayer;
  unsigned reserved[16];
};

}  // namespace tutti::cuda
