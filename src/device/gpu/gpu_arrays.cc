#include "device/gpu/gpu_arrays.h"

#include <fmt/format.h>

#include <bit>
#include <iterator>
#include <utility>

#include "base/checked.h"
#include "cuda/array_format.h"
#include "cuda/result.h"

namespace tutti::device::gpu {
namespace {

using executor::RequestKind;
using wire::TextureKind;

bool IsOfLinearMemory(TextureKind kind) { return kind == TextureKind::kLinear || kind == TextureKind::kPitched; }

// From the first byte to the last; nothing: there are no such textures.
std::optional<uint64_t> BytesOf(const wire::TextureCreateBody& texture) {
  const uint32_t texel = cuda::TexelBytes(texture.format, texture.channels);
  if (texel == 0 || texture.width == 0) return std::nullopt;
  if (texture.kind == TextureKind::kLinear) return texture.width;
  const auto row = CheckedMul<uint64_t>(texture.width, texel);
  const auto before = texture.height != 0 ? CheckedMul(texture.height - 1, texture.pitch) : std::nullopt;
  return row && before ? CheckedAdd(*row, *before) : std::nullopt;
}

// What a driver takes at least. It says how much only of arrays without memory (cuArrayGetMemoryRequirements). A GPU's
// layouts are made of blocks of 64 bytes by 8 rows, and are mapped in pages of 64 KiB or more.
std::optional<uint64_t> BytesTaken(const wire::ArrayShape& shape, const wire::ArrayLayout& layout) {
  constexpr uint64_t kBlockBytes = 64, kBlockRows = 8, kPageBytes = 65536;
  uint64_t all = 0;
  for (uint32_t i = 0; i < shape.levels; ++i) {
    const wire::ArrayLevel level = layout.Level(i);
    const uint64_t rows = level.height != 0 ? AlignUp(level.rows, kBlockRows) : level.rows;
    const auto plane = CheckedMul(AlignUp(level.row_bytes, kBlockBytes), rows);
    const auto bytes = plane ? CheckedMul(*plane, level.planes) : std::nullopt;
    const auto sum = bytes ? CheckedAdd(all, *bytes) : std::nullopt;
    if (!sum || *sum > UINT64_MAX - kPageBytes) return std::nullopt;
    all = *sum;
  }
  return AlignUp(all, kPageBytes);
}

std::vector<uint8_t> DetailsOf(const auto& body) {
  ByteWriter out;
  out.Put(body);
  return out.Take();
}

}  // namespace

Result<uint64_t> GpuArrays::Create(const wire::ArrayShape& shape, GpuMemory& memory) {
  const auto layout = wire::ArrayLayout::Of(shape, cuda::TexelBytes(shape.format, shape.channels));
  if (!layout)
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE,
                fmt::format("an array of {} x {} x {} texels of format {} with {} channels, {} levels", shape.width,
                            shape.height, shape.depth, shape.format, shape.channels, shape.levels));
  {
    std::lock_guard lock(mutex_);
    if (arrays_.size() >= wire::kMostArrays)
      return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("more than {} arrays", wire::kMostArrays));
  }
  const auto taken = BytesTaken(shape, *layout);
  if (!taken) return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, "an array of more bytes than there are addresses");
  TUTTI_TRY(memory.CountForDriver(*taken));
  const auto address = memory.ReserveForArray(layout->bytes());
  if (!address) {
    memory.ReleaseOfDriver(*taken, false);
    return address;
  }
  const auto made = executor_->WithOne([&]() -> Result<uint64_t> {
    TUTTI_TRY(executor_->Ask({.kind = RequestKind::kCreateArray,
                              .address = *address,
                              .bytes = layout->bytes(),
                              .details = DetailsOf(shape)}));
    std::lock_guard lock(mutex_);
    arrays_.emplace(*address, Array{.layout = *layout, .counted = *taken});
    has_arrays_.store(true, std::memory_order_relaxed);
    return *address;
  });
  if (made) return made;
  memory.Release(*address);
  memory.ReleaseOfDriver(*taken, false);
  return made;
}

void GpuArrays::Retire(uint64_t address, GpuMemory& memory) {
  std::lock_guard lock(mutex_);
  const auto found = arrays_.find(address);
  if (found == arrays_.end() || std::exchange(found->second.retired, true)) return;
  memory.RetireOfDriver(found->second.counted);
}

void GpuArrays::Release(uint64_t address, GpuMemory& memory) {
  if (!has_arrays_.load(std::memory_order_relaxed)) return;
  const auto use = executor_->Using();  // else the next executor might be expected to have it
  {
    std::lock_guard lock(mutex_);
    if (!arrays_.contains(address)) return;
  }
  (void)executor_->Ask({.kind = RequestKind::kDestroyArray, .address = address});
  std::lock_guard lock(mutex_);
  const auto array = arrays_.extract(address);
  if (!array) return;
  memory.ReleaseOfDriver(array.mapped().counted, array.mapped().retired);
  has_arrays_.store(!arrays_.empty(), std::memory_order_relaxed);
}

Result<uint64_t> GpuArrays::CreateTexture(const wire::TextureCreateBody& texture, const GpuMemory& memory) {
  if (IsOfLinearMemory(texture.kind)) {
    const auto bytes = BytesOf(texture);
    if (!bytes || !memory.Contains(texture.address, *bytes, false))
      return Fail(cuda::CUDA_ERROR_INVALID_VALUE,
                  fmt::format("a texture of memory at {:#x} that is not the client's", texture.address));
  } else {
    std::lock_guard lock(mutex_);
    const auto found = ArrayAround(texture.address);
    if (found == arrays_.end() || found->second.retired ||
        !found->second.layout.LevelAt(texture.address - found->first))
      return Fail(cuda::CUDA_ERROR_INVALID_HANDLE, fmt::format("no array of the client is at {:#x}", texture.address));
  }
  return executor_->WithOne([&]() -> Result<uint64_t> {
    {
      std::lock_guard lock(mutex_);
      if (textures_.size() >= wire::kMostTextures)
        return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, fmt::format("more than {} textures", wire::kMostTextures));
    }
    TUTTI_ASSIGN(const CurrentExecutor::Reply reply,
                 executor_->Ask({.kind = RequestKind::kCreateTexture, .details = DetailsOf(texture)}));
    std::lock_guard lock(mutex_);
    const TextureName name(reply.answer.value, texture.kind == TextureKind::kSurface);
    if (!textures_.emplace(name, Texture{.serial = ++made_}).second)
      return Fail(cuda::CUDA_ERROR_UNKNOWN, fmt::format("the executor has a texture {:#x} already", name.first));
    return name.first;
  });
}

Result<std::shared_ptr<const void>> GpuArrays::DestroyTexture(const wire::TextureDestroyBody& texture) {
  const TextureName name(texture.texture, texture.is_surface != 0);
  uint64_t serial = 0;
  {
    std::lock_guard lock(mutex_);
    const auto found = textures_.find(name);
    if (found == textures_.end() || std::exchange(found->second.retired, true))
      return Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("there is no texture {:#x}", name.first));
    serial = found->second.serial;
  }
  return std::shared_ptr<const void>(this, [this, name, serial](const void*) { ReleaseTexture(name, serial); });
}

void GpuArrays::ReleaseTexture(TextureName name, uint64_t serial) {
  const auto use = executor_->Using();
  {
    std::lock_guard lock(mutex_);
    const auto found = textures_.find(name);
    if (found == textures_.end() || found->second.serial != serial) return;
    textures_.erase(found);  // first: as soon as the driver has destroyed it, another may have the number
  }
  (void)executor_->Ask({.kind = RequestKind::kDestroyTexture,
                        .address = name.first,
                        .flags = name.second ? uint32_t{executor::kSurface} : 0});
}

GpuArrays::ArraysByAddress::const_iterator GpuArrays::ArrayAround(uint64_t address) const {
  const auto behind = arrays_.upper_bound(address);
  if (behind == arrays_.begin()) return arrays_.end();
  const auto found = std::prev(behind);
  return address - found->first < found->second.layout.bytes() ? found : arrays_.end();
}

GpuArrays::Touches GpuArrays::Find(uint64_t address, wire::ArrayLayout::Rows rows) const {
  if (!has_arrays_.load(std::memory_order_relaxed)) return Touches::kNone;
  std::lock_guard lock(mutex_);
  const auto found = ArrayAround(address);
  if (found == arrays_.end()) return Touches::kNone;
  const auto& [begin, array] = *found;
  rows.offset = address - begin;
  return !array.retired && array.layout.Find(rows) ? Touches::kBox : Touches::kNoBox;
}

void GpuArrays::Forget(GpuMemory& memory) {
  std::lock_guard lock(mutex_);
  for (const auto& [address, array] : arrays_) memory.ReleaseOfDriver(array.counted, array.retired);
  arrays_.clear();
  textures_.clear();
  has_arrays_.store(false, std::memory_order_relaxed);
}

std::optional<std::string> GpuArrays::WhyBound() const {
  std::lock_guard lock(mutex_);
  if (!arrays_.empty()) return "it has arrays, of which only the driver has the contents";
  if (!textures_.empty()) return "it has textures, which the driver has numbered";
  return std::nullopt;
}

}  // namespace tutti::device::gpu
