// Arrays and textures. Code that reads them cannot be fenced: so they are for clients with an executor of their own,
// or whose neighbours trust them.
#include <fmt/format.h>

#include "cuda/result.h"
#include "device/gpu/gpu_space.h"

namespace tutti::device::gpu {

Status GpuSpace::MayHaveArrays() {
  if (!modules_.are_fenced() || (moves_out_ && IsAlone())) return {};
  constexpr const char* kWhyNot =
      "arrays and textures are for kernels that are not fenced: with TUTTI_ISOLATION=process or auto a program has an "
      "executor of its own for them";
  if (!moves_out_) return tutti::Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, kWhyNot);
  const Status moved = MoveOut();
  if (moved) return {};
  return tutti::Fail(moved.error().code,
                     fmt::format("{}; this one cannot move to one: {}", kWhyNot, moved.error().text));
}

Result<uint64_t> GpuSpace::CreateArray(const wire::ArrayCreateBody& array) {
  TUTTI_TRY(MayHaveArrays());
  auto made = arrays_.Create(array.shape, *memory_);
  if (made || made.error().code != cuda::CUDA_ERROR_OUT_OF_MEMORY) return made;
  aside_.Wait();  // for what has been freed
  return arrays_.Create(array.shape, *memory_);
}

Result<uint64_t> GpuSpace::CreateTexture(const wire::TextureCreateBody& texture) {
  TUTTI_TRY(MayHaveArrays());
  auto made = arrays_.CreateTexture(texture, *memory_);
  if (made || made.error().code != cuda::CUDA_ERROR_OUT_OF_MEMORY) return made;
  aside_.Wait();
  return arrays_.CreateTexture(texture, *memory_);
}

Status GpuSpace::DestroyTexture(const wire::TextureDestroyBody& texture) {
  TUTTI_ASSIGN(std::shared_ptr<const void> kept, arrays_.DestroyTexture(texture));
  std::unique_lock lock(mutex_);
  engine_.Defer({.address = 0, .kept = std::move(kept)});
  UnlockAndRunDeferred(&lock);
  return {};
}

bool GpuSpace::HoldsSide(const Extent& side, const wire::ArrayLayout::Rows& rows, bool writes) {
  if (side.bytes == 0) return true;
  const GpuArrays::Touches touches = arrays_.Find(side.address, rows);
  return touches == GpuArrays::Touches::kBox ||
         (touches == GpuArrays::Touches::kNone && Holds(side.address, side.bytes, writes));
}

}  // namespace tutti::device::gpu
