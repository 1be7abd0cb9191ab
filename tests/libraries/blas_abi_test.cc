// Compares our header with the toolkit's: every enumeration's value, and the sizes of what programs allocate
// themselves.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <gtest/gtest.h>

#include "libraries/blas/abi.h"
#include "libraries/blas/lt_descriptor.h"

namespace ours = tutti::blas;

#define SAME(theirs, mine) static_assert(static_cast<int>(theirs) == static_cast<int>(ours::mine))
SAME(CUBLAS_STATUS_SUCCESS, kSuccess);
SAME(CUBLAS_STATUS_NOT_INITIALIZED, kNotInitialized);
SAME(CUBLAS_STATUS_ALLOC_FAILED, kAllocFailed);
SAME(CUBLAS_STATUS_INVALID_VALUE, kInvalidValue);
SAME(CUBLAS_STATUS_ARCH_MISMATCH, kArchMismatch);
SAME(CUBLAS_STATUS_MAPPING_ERROR, kMappingError);
SAME(CUBLAS_STATUS_EXECUTION_FAILED, kExecutionFailed);
SAME(CUBLAS_STATUS_INTERNAL_ERROR, kInternalError);
SAME(CUBLAS_STATUS_NOT_SUPPORTED, kNotSupported);
SAME(CUBLAS_STATUS_LICENSE_ERROR, kLicenseError);
SAME(CUBLAS_OP_N, kN);
SAME(CUBLAS_OP_T, kT);
SAME(CUBLAS_OP_C, kC);
SAME(CUBLAS_OP_CONJG, kConjugated);
SAME(CUBLAS_FILL_MODE_LOWER, kLower);
SAME(CUBLAS_FILL_MODE_UPPER, kUpper);
SAME(CUBLAS_FILL_MODE_FULL, kFull);
SAME(CUBLAS_DIAG_NON_UNIT, kNonUnit);
SAME(CUBLAS_DIAG_UNIT, kUnit);
SAME(CUBLAS_SIDE_LEFT, kLeft);
SAME(CUBLAS_SIDE_RIGHT, kRight);
SAME(CUBLAS_POINTER_MODE_HOST, kHost);
SAME(CUBLAS_POINTER_MODE_DEVICE, kDevice);
SAME(CUDA_R_32F, kR32F);
SAME(CUDA_R_64F, kR64F);
SAME(CUDA_R_16F, kR16F);
SAME(CUDA_R_16BF, kR16BF);
SAME(CUDA_R_8I, kR8I);
SAME(CUDA_R_8U, kR8U);
SAME(CUDA_R_32I, kR32I);
SAME(CUDA_C_32F, kC32F);
SAME(CUDA_C_64F, kC64F);
SAME(CUDA_R_8F_E4M3, kR8E4M3);
SAME(CUDA_R_8F_E5M2, kR8E5M2);
SAME(CUBLAS_COMPUTE_16F, kCompute16F);
SAME(CUBLAS_COMPUTE_16F_PEDANTIC, kCompute16FPedantic);
SAME(CUBLAS_COMPUTE_32F, kCompute32F);
SAME(CUBLAS_COMPUTE_32F_PEDANTIC, kCompute32FPedantic);
SAME(CUBLAS_COMPUTE_32F_FAST_16F, kCompute32FFast16F);
SAME(CUBLAS_COMPUTE_32F_FAST_16BF, kCompute32FFast16BF);
SAME(CUBLAS_COMPUTE_32F_FAST_TF32, kCompute32FFastTF32);
SAME(CUBLAS_COMPUTE_64F, kCompute64F);
SAME(CUBLAS_COMPUTE_64F_PEDANTIC, kCompute64FPedantic);
SAME(CUBLAS_COMPUTE_32I, kCompute32I);
SAME(CUBLAS_COMPUTE_32I_PEDANTIC, kCompute32IPedantic);
SAME(CUBLASLT_ORDER_COL, lt::kColumns);
SAME(CUBLASLT_ORDER_ROW, lt::kRows);
SAME(CUBLASLT_EPILOGUE_DEFAULT, lt::kNoEpilogue);
SAME(CUBLASLT_EPILOGUE_RELU, lt::kRelu);
SAME(CUBLASLT_EPILOGUE_BIAS, lt::kBias);
SAME(CUBLASLT_EPILOGUE_GELU, lt::kGelu);
SAME(CUBLASLT_EPILOGUE_GELU_AUX, lt::kGelu | ours::lt::kAux);
static_assert(sizeof(cublasLtMatrixLayoutOpaque_t) == ours::lt::kLayoutBytes);
static_assert(sizeof(cublasLtMatmulDescOpaque_t) == ours::lt::kMatmulDescBytes);
static_assert(sizeof(cublasLtMatmulPreferenceOpaque_t) == ours::lt::kPreferenceBytes);
static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == sizeof(ours::lt::HeuristicResult));
static_assert(offsetof(cublasLtMatmulHeuristicResult_t, state) == offsetof(ours::lt::HeuristicResult, state));
static_assert(sizeof(cuComplex) == sizeof(ours::ComplexFloat) &&
              sizeof(cuDoubleComplex) == sizeof(ours::ComplexDouble));

// Attributes by number and size, through the functions that take them.
TEST(BlasAbi, DescriptorsTakeTheToolkitsAttributes) {
  cublasLtMatmulDescOpaque_t desc;
  ASSERT_EQ(cublasLtMatmulDescInit(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
  const cublasOperation_t op = CUBLAS_OP_T;
  const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;
  const void* const bias = &desc;
  const int64_t stride = 7;
  const int8_t fast = 1;
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(&desc, CUBLASLT_MATMUL_DESC_TRANSA, &op, sizeof op), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(&desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(&desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(&desc, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, &stride, sizeof stride),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(&desc, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast),
            CUBLAS_STATUS_SUCCESS);
  const auto* const mine = reinterpret_cast<const ours::lt::MatmulDesc*>(&desc);
  EXPECT_EQ(mine->op_a, 1);
  EXPECT_EQ(mine->epilogue, 36u);
  EXPECT_EQ(mine->bias, bias);
  EXPECT_EQ(mine->bias_stride, 7);
  cublasLtMatrixLayoutOpaque_t layout;
  ASSERT_EQ(cublasLtMatrixLayoutInit(&layout, CUDA_R_16F, 3, 4, 5), CUBLAS_STATUS_SUCCESS);
  const int32_t batches = 6;
  EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, sizeof batches),
            CUBLAS_STATUS_SUCCESS);
  uint64_t rows = 0;
  size_t written = 0;
  EXPECT_EQ(cublasLtMatrixLayoutGetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof rows, &written),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(rows, 3u);
}
