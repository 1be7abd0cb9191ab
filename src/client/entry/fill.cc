// Memsets.
#include "client/copy/fill.h"

#include "client/entry/called_stream.h"
#include "client/entry/copy_or_capture.h"
#include "client/entry/entries.h"

namespace tutti::client::entry {
namespace {

template <typename T>
CUresult Set(CUstream handle, CopyMode mode, CUdeviceptr address, size_t pitch, T value, size_t width, size_t height) {
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  return FillOrCapture(*stream, {address, width, height, pitch, value, sizeof(T)}, mode);
}

constexpr auto kSync = CopyMode::kSynchronous;
constexpr auto kAsync = CopyMode::kAsynchronous;

}  // namespace

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  return Set(nullptr, kSync, to, 0, value, count, 1);
}
CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
  return Set(nullptr, kSync, to, 0, value, count, 1);
}
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count) {
  return Set(nullptr, kSync, to, 0, value, count, 1);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return Set(stream, kAsync, to, 0, value, count, 1);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return Set(stream, kAsync, to, 0, value, count, 1);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream) {
  return Set(stream, kAsync, to, 0, value, count, 1);
}
CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height) {
  return Set(nullptr, kSync, to, pitch, value, width, height);
}
CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height) {
  return Set(nullptr, kSync, to, pitch, value, width, height);
}
CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height) {
  return Set(nullptr, kSync, to, pitch, value, width, height);
}
CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream) {
  return Set(stream, kAsync, to, pitch, value, width, height);
}
CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
                            CUstream stream) {
  return Set(stream, kAsync, to, pitch, value, width, height);
}
CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height,
                            CUstream stream) {
  return Set(stream, kAsync, to, pitch, value, width, height);
}

}  // namespace tutti::client::entry
