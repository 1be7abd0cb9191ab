#include "libraries/blas/kernels.h"

namespace tutti::blas {
namespace {

using libraries::DeviceCode;
using libraries::Kernel;

#define KERNELS_OF(letter)                                                                    \
  DEVICE_CODE(vector_##letter);                                                               \
  DEVICE_CODE(matrix_vector_##letter);                                                        \
  DEVICE_CODE(dense_##letter);                                                                \
  DEVICE_CODE(factor_##letter);                                                               \
  DEVICE_CODE(gemm_##letter);                                                                 \
  constinit DeviceCode vector_code_##letter(tutti_device_code_vector_##letter);               \
  constinit DeviceCode matrix_vector_code_##letter(tutti_device_code_matrix_vector_##letter); \
  constinit DeviceCode dense_code_##letter(tutti_device_code_dense_##letter);                 \
  constinit DeviceCode factor_code_##letter(tutti_device_code_factor_##letter);               \
  constinit DeviceCode gemm_code_##letter(tutti_device_code_gemm_##letter);
KERNELS_OF(s)
KERNELS_OF(d)
KERNELS_OF(c)
KERNELS_OF(z)
DEVICE_CODE(gemm_i);
constinit DeviceCode gemm_code_i(tutti_device_code_gemm_i);

#define KERNEL(file, name) {&file##_code_s, #name},
constinit Kernel kernels_s[] = {
#include "libraries/blas/kernels.def"
};
#undef KERNEL
#define KERNEL(file, name) {&file##_code_d, #name},
constinit Kernel kernels_d[] = {
#include "libraries/blas/kernels.def"
};
#undef KERNEL
#define KERNEL(file, name) {&file##_code_c, #name},
constinit Kernel kernels_c[] = {
#include "libraries/blas/kernels.def"
};
#undef KERNEL
#define KERNEL(file, name) {&file##_code_z, #name},
constinit Kernel kernels_z[] = {
#include "libraries/blas/kernels.def"
};
#undef KERNEL
constinit Kernel wide_i(&gemm_code_i, "gemm_wide"), narrow_i(&gemm_code_i, "gemm_narrow");

}  // namespace

Kernel& KernelOf(Name name, Type type) {
  const auto index = static_cast<size_t>(name);
  switch (type) {
    case Type::kF64: return kernels_d[index];
    case Type::kC32: return kernels_c[index];
    case Type::kC64: return kernels_z[index];
    case Type::kS32: return name == Name::gemm_wide ? wide_i : narrow_i;
    default: return kernels_s[index];
  }
}

Status StatusOf(int result) {
  switch (result) {
    case cuda::CUDA_SUCCESS: return kSuccess;
    case cuda::CUDA_ERROR_OUT_OF_MEMORY: return kAllocFailed;
    case cuda::CUDA_ERROR_NO_BINARY_FOR_GPU:
    case cuda::CUDA_ERROR_INVALID_PTX:
    case cuda::CUDA_ERROR_UNSUPPORTED_PTX_VERSION: return kArchMismatch;
    default: return kExecutionFailed;
  }
}

}  // namespace tutti::blas
