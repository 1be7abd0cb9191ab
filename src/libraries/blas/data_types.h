// Which types of elements go together in the functions that take them as arguments (GemmEx, cublasLtMatmul).
#pragma once

#include "libraries/blas/abi.h"
#include "libraries/blas/tasks.h"

namespace tutti::blas {

// The types of a product, by cudaDataType_t and cublasComputeType_t.
struct ProductTypes {
  Type a, b, c, d;
  Type compute;  // as which kernel
  Type scale;    // of alpha and beta
};

// False if the combination is none that there is. `scale` of a program's, or -1: what belongs to the compute type.
bool TypesOf(int a, int b, int c, int d, int compute, int scale, ProductTypes* types);

// A factor of such a product, from the host or the device.
Scalar ScalarOfType(bool on_device, const void* value, Type type);

}  // namespace tutti::blas
