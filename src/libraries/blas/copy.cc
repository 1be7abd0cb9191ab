// cublasSetVector, cublasSetMatrix and the way back: copies of rectangles.
#include "libraries/blas/handle.h"

namespace tutti::blas {
namespace {

// `rows` of `row_bytes` each.
Status CopyRows(const void* from, int64_t from_pitch, void* to, int64_t to_pitch, int64_t row_bytes, int64_t rows,
                bool to_device, bool asynchronous, CUstream_st* stream) {
  cuda::CUDA_MEMCPY2D copy{};
  constexpr cuda::CUmemorytype kHostMemory = 1, kDeviceMemory = 2;
  copy.srcMemoryType = to_device ? kHostMemory : kDeviceMemory;
  copy.dstMemoryType = to_device ? kDeviceMemory : kHostMemory;
  copy.srcHost = from;
  copy.srcDevice = reinterpret_cast<cuda::CUdeviceptr>(from);
  copy.dstHost = to;
  copy.dstDevice = reinterpret_cast<cuda::CUdeviceptr>(to);
  copy.srcPitch = static_cast<size_t>(from_pitch);
  copy.dstPitch = static_cast<size_t>(to_pitch);
  copy.WidthInBytes = static_cast<size_t>(row_bytes);
  copy.Height = static_cast<size_t>(rows);
  const int result = asynchronous ? cuda::cuMemcpy2DAsync_v2(&copy, stream) : cuda::cuMemcpy2DUnaligned_v2(&copy);
  return result == cuda::CUDA_SUCCESS ? kSuccess : kMappingError;
}

Status Matrix(int64_t rows, int64_t columns, int64_t element, const void* from, int64_t lda, void* to, int64_t ldb,
              bool to_device, bool asynchronous, CUstream_st* stream) {
  BLAS_CHECK(rows >= 0 && columns >= 0 && element > 0 && lda > 0 && ldb > 0 && lda >= rows && ldb >= rows);
  if (rows == 0 || columns == 0) return kSuccess;
  BLAS_CHECK(from != nullptr && to != nullptr);
  constexpr int64_t kMost = INT64_MAX / 4096;
  BLAS_CHECK(element <= 4096 && lda < kMost && ldb < kMost);
  return CopyRows(from, lda * element, to, ldb * element, rows * element, columns, to_device, asynchronous, stream);
}

Status Vector(int64_t n, int64_t element, const void* from, int64_t incx, void* to, int64_t incy, bool to_device,
              bool asynchronous, CUstream_st* stream) {
  BLAS_CHECK(n >= 0 && element > 0 && incx > 0 && incy > 0);
  // Contiguous vectors are one column; others columns of one element each.
  if (incx == 1 && incy == 1)
    return Matrix(n, 1, element, from, n > 0 ? n : 1, to, n > 0 ? n : 1, to_device, asynchronous, stream);
  return Matrix(1, n, element, from, incx, to, incy, to_device, asynchronous, stream);
}

}  // namespace

#define COPIES(suffix, Int)                                                                                         \
  BLAS_EXPORT cublasSetVector##suffix(Int n, Int element, const void* from, Int incx, void* to, Int incy) {         \
    return Vector(n, element, from, incx, to, incy, true, false, nullptr);                                          \
  }                                                                                                                 \
  BLAS_EXPORT cublasGetVector##suffix(Int n, Int element, const void* from, Int incx, void* to, Int incy) {         \
    return Vector(n, element, from, incx, to, incy, false, false, nullptr);                                         \
  }                                                                                                                 \
  BLAS_EXPORT cublasSetMatrix##suffix(Int rows, Int columns, Int element, const void* from, Int lda, void* to,      \
                                      Int ldb) {                                                                    \
    return Matrix(rows, columns, element, from, lda, to, ldb, true, false, nullptr);                                \
  }                                                                                                                 \
  BLAS_EXPORT cublasGetMatrix##suffix(Int rows, Int columns, Int element, const void* from, Int lda, void* to,      \
                                      Int ldb) {                                                                    \
    return Matrix(rows, columns, element, from, lda, to, ldb, false, false, nullptr);                               \
  }                                                                                                                 \
  BLAS_EXPORT cublasSetVectorAsync##suffix(Int n, Int element, const void* from, Int incx, void* to, Int incy,      \
                                           CUstream_st* stream) {                                                   \
    return Vector(n, element, from, incx, to, incy, true, true, stream);                                            \
  }                                                                                                                 \
  BLAS_EXPORT cublasGetVectorAsync##suffix(Int n, Int element, const void* from, Int incx, void* to, Int incy,      \
                                           CUstream_st* stream) {                                                   \
    return Vector(n, element, from, incx, to, incy, false, true, stream);                                           \
  }                                                                                                                 \
  BLAS_EXPORT cublasSetMatrixAsync##suffix(Int rows, Int columns, Int element, const void* from, Int lda, void* to, \
                                           Int ldb, CUstream_st* stream) {                                          \
    return Matrix(rows, columns, element, from, lda, to, ldb, true, true, stream);                                  \
  }                                                                                                                 \
  BLAS_EXPORT cublasGetMatrixAsync##suffix(Int rows, Int columns, Int element, const void* from, Int lda, void* to, \
                                           Int ldb, CUstream_st* stream) {                                          \
    return Matrix(rows, columns, element, from, lda, to, ldb, false, true, stream);                                 \
  }
COPIES(, int)
COPIES(_64, int64_t)

}  // namespace tutti::blas
