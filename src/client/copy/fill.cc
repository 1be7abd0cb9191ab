#include "client/copy/fill.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "client/context/context.h"

namespace tutti::client {
namespace {

constexpr uint64_t kInlineBytes = 64 * 1024;

template <typename T>
void FillRow(uint64_t address, uint64_t value, uint64_t count) {
  std::fill_n(reinterpret_cast<T*>(address), count, static_cast<T>(value));
}

void FillHere(const FillRequest& r) {
  for (uint64_t row = 0; row < r.height; ++row) {
    const uint64_t address = r.address + row * r.pitch;
    switch (r.element_bytes) {
      case 1: std::memset(reinterpret_cast<void*>(address), static_cast<int>(r.value), r.width); break;
      case 2: FillRow<uint16_t>(address, r.value, r.width); break;
      case 4: FillRow<uint32_t>(address, r.value, r.width); break;
      default: FillRow<uint64_t>(address, r.value, r.width); break;
    }
  }
}

}  // namespace

wire::FillBody BodyOf(const FillRequest& request) {
  return {.destination = request.address,
          .width = request.width,
          .height = request.height,
          .pitch = request.pitch,
          .value = request.value,
          .element_bytes = request.element_bytes};
}

Answer<CopyShape> CheckFill(const FillRequest& request) {
  const auto row_bytes = CheckedMul<uint64_t>(request.width, request.element_bytes);
  if (!row_bytes || request.address % request.element_bytes != 0) return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  const CopyShape shape{*row_bytes, request.height, 1};
  if (shape.empty()) return shape;
  if (request.height > 1 && request.pitch % request.element_bytes != 0) return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  CU_TRY_OR_REFUSE(CheckSide({request.address, request.pitch, 0}, shape, SideKind::kDevice));
  return shape;
}

int Fill(Stream& stream, const FillRequest& request, CopyMode mode) {
  CU_ASSIGN(const CopyShape shape, CheckFill(request));
  if (shape.empty()) return cuda::CUDA_SUCCESS;
  const CopySide filled{request.address, request.pitch, 0};
  if (shape.bytes() <= kInlineBytes && Reaches(filled, shape) && stream.Settled()) {
    FillHere(request);
    return cuda::CUDA_SUCCESS;
  }
  stream.Submit(wire::RecordKind::kFill, BodyOf(request));
  if (mode != CopyMode::kSynchronous) return cuda::CUDA_SUCCESS;
  CU_TRY(stream.Settle());
  return stream.context().Check();
}

}  // namespace tutti::client
