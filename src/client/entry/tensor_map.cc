// Tensor maps.
#include "client/array/tensor_map.h"

#include "client/base/complaint.h"
#include "client/entry/entries.h"

namespace tutti::client::entry {

CUresult cuTensorMapEncodeTiled(CUtensorMap* out, CUtensorMapDataType type, unsigned rank, void* address,
                                const uint64_t* sizes, const uint64_t* strides, const uint32_t* box,
                                const uint32_t* element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill) {
  return EncodeTiled(out, {type, rank, address, sizes, strides, element_strides, interleave, swizzle, promotion, fill},
                     box);
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* out, CUtensorMapDataType type, unsigned rank, void* address,
                                 const uint64_t* sizes, const uint64_t* strides, const int* lower, const int* upper,
                                 unsigned channels, unsigned pixels, const uint32_t* element_strides,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  return EncodeIm2col(out, {type, rank, address, sizes, strides, element_strides, interleave, swizzle, promotion, fill},
                      {lower, upper, channels, pixels});
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) { return ReplaceTensorAddress(map, address); }

}  // namespace tutti::client::entry
