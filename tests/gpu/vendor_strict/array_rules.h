// Arrays, textures and surfaces: which there are, what copies reach of them, what objects may be made of.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>

#include "cuda/types.h"

namespace tutti::gpu::strict {

// Thread-safe.
class ArrayRules {
 public:
  static ArrayRules& Get();

  int Create(cuda::CUarray* out, const cuda::CUDA_ARRAY3D_DESCRIPTOR* shape);
  int Destroy(cuda::CUarray array);
  int CreateMipmapped(cuda::CUmipmappedArray* out, const cuda::CUDA_ARRAY3D_DESCRIPTOR* shape, unsigned levels);
  int GetLevel(cuda::CUarray* out, cuda::CUmipmappedArray array, unsigned level);
  int DestroyMipmapped(cuda::CUmipmappedArray array);
  int Copy(const cuda::CUDA_MEMCPY3D* copy, cuda::CUstream stream);

  int CreateTexture(cuda::CUtexObject* out, const cuda::CUDA_RESOURCE_DESC* resource,
                    const cuda::CUDA_TEXTURE_DESC* sampling, const cuda::CUDA_RESOURCE_VIEW_DESC* view);
  int DestroyTexture(cuda::CUtexObject texture);
  int CreateSurface(cuda::CUsurfObject* out, const cuda::CUDA_RESOURCE_DESC* resource);
  int DestroySurface(cuda::CUsurfObject surface);

 private:
  struct Array {
    uint64_t row_bytes = 0, rows = 0, planes = 0, element_bytes = 0;
    bool of_surfaces = false;
    cuda::CUmipmappedArray whole = nullptr;  // of a level
  };
  // One side of a copy.
  struct Side {
    uint64_t x, y, z;
    cuda::CUmemorytype type;
    cuda::CUdeviceptr address;
    cuda::CUarray array;
    uint64_t pitch, height;
  };
  static Array Of(const cuda::CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned level);
  int CheckSide(const Side& side, const cuda::CUDA_MEMCPY3D& copy, bool writes);
  int CheckAlive(const char* call, bool is_alive);

  std::mutex mutex_;
  std::map<cuda::CUarray, Array> arrays_;
  std::map<cuda::CUmipmappedArray, cuda::CUDA_ARRAY3D_DESCRIPTOR> mipmapped_;
  std::set<cuda::CUtexObject> textures_;
  std::set<cuda::CUsurfObject> surfaces_;
};

}  // namespace tutti::gpu::strict
