// cuBLAS' functions, and OpenBLAS' of the same meaning (by their Fortran names, which are alike for all types), for
// each type of elements. Link the target cublas_13 and OpenBLAS.
#pragma once

#include <complex>
#include <cstdint>

namespace blas_test {

struct Handle;
using Single = std::complex<float>;
using Double = std::complex<double>;

extern "C" {
int cublasCreate_v2(Handle**);
int cublasDestroy_v2(Handle*);
int cublasSetStream_v2(Handle*, void* stream);
int cublasSetPointerMode_v2(Handle*, int mode);
}

template <typename T>
struct Api;

// L: cuBLAS' letter, l: OpenBLAS', and the names of what differs between real and complex types: H/h (hermitian or
// symmetric), gerc, dotc, nrm2, asum, amax, and the type of numbers that are real then.
#define BLAS_API(L, l, T, R, HE, he, SP, sp, SB, sb, GERC, gerc_name, NRM2, nrm2_name, ASUM, AMAX, amax_name)          \
  extern "C" {                                                                                                         \
  int cublas##L##axpy_v2(Handle*, int, const T*, const T*, int, T*, int);                                              \
  int cublas##L##copy_v2(Handle*, int, const T*, int, T*, int);                                                        \
  int cublas##L##swap_v2(Handle*, int, T*, int, T*, int);                                                              \
  int cublas##L##scal_v2(Handle*, int, const T*, T*, int);                                                             \
  int cublas##NRM2##_v2(Handle*, int, const T*, int, R*);                                                              \
  int cublas##ASUM##_v2(Handle*, int, const T*, int, R*);                                                              \
  int cublasI##AMAX##amax_v2(Handle*, int, const T*, int, int*);                                                       \
  int cublasI##AMAX##amin_v2(Handle*, int, const T*, int, int*);                                                       \
  int cublas##L##gemv_v2(Handle*, int, int, int, const T*, const T*, int, const T*, int, const T*, T*, int);           \
  int cublas##L##gbmv_v2(Handle*, int, int, int, int, int, const T*, const T*, int, const T*, int, const T*, T*, int); \
  int cublas##L##HE##mv_v2(Handle*, int, int, const T*, const T*, int, const T*, int, const T*, T*, int);              \
  int cublas##L##SB##mv_v2(Handle*, int, int, int, const T*, const T*, int, const T*, int, const T*, T*, int);         \
  int cublas##L##SP##mv_v2(Handle*, int, int, const T*, const T*, const T*, int, const T*, T*, int);                   \
  int cublas##L##trmv_v2(Handle*, int, int, int, int, const T*, int, T*, int);                                         \
  int cublas##L##trsv_v2(Handle*, int, int, int, int, const T*, int, T*, int);                                         \
  int cublas##L##tbmv_v2(Handle*, int, int, int, int, int, const T*, int, T*, int);                                    \
  int cublas##L##tbsv_v2(Handle*, int, int, int, int, int, const T*, int, T*, int);                                    \
  int cublas##L##tpmv_v2(Handle*, int, int, int, int, const T*, T*, int);                                              \
  int cublas##L##tpsv_v2(Handle*, int, int, int, int, const T*, T*, int);                                              \
  int cublas##L##GERC##_v2(Handle*, int, int, const T*, const T*, int, const T*, int, T*, int);                        \
  int cublas##L##HE##r_v2(Handle*, int, int, const R*, const T*, int, T*, int);                                        \
  int cublas##L##SP##r_v2(Handle*, int, int, const R*, const T*, int, T*);                                             \
  int cublas##L##HE##r2_v2(Handle*, int, int, const T*, const T*, int, const T*, int, T*, int);                        \
  int cublas##L##SP##r2_v2(Handle*, int, int, const T*, const T*, int, const T*, int, T*);                             \
  int cublas##L##gemm_v2(Handle*, int, int, int, int, int, const T*, const T*, int, const T*, int, const T*, T*, int); \
  int cublas##L##gemm_v2_64(Handle*, int, int, int64_t, int64_t, int64_t, const T*, const T*, int64_t, const T*,       \
                            int64_t, const T*, T*, int64_t);                                                           \
  int cublas##L##gemmBatched(Handle*, int, int, int, int, int, const T*, const T* const*, int, const T* const*, int,   \
                             const T*, T* const*, int, int);                                                           \
  int cublas##L##gemmStridedBatched(Handle*, int, int, int, int, int, const T*, const T*, int, long long, const T*,    \
                                    int, long long, const T*, T*, int, long long, int);                                \
  int cublas##L##symm_v2(Handle*, int, int, int, int, const T*, const T*, int, const T*, int, const T*, T*, int);      \
  int cublas##L##HE##mm_v2(Handle*, int, int, int, int, const T*, const T*, int, const T*, int, const T*, T*, int);    \
  int cublas##L##syrk_v2(Handle*, int, int, int, int, const T*, const T*, int, const T*, T*, int);                     \
  int cublas##L##HE##rk_v2(Handle*, int, int, int, int, const R*, const T*, int, const R*, T*, int);                   \
  int cublas##L##HE##r2k_v2(Handle*, int, int, int, int, const T*, const T*, int, const T*, int, const R*, T*, int);   \
  int cublas##L##trmm_v2(Handle*, int, int, int, int, int, int, const T*, const T*, int, const T*, int, T*, int);      \
  int cublas##L##trsm_v2(Handle*, int, int, int, int, int, int, const T*, const T*, int, T*, int);                     \
  int cublas##L##geam(Handle*, int, int, int, int, const T*, const T*, int, const T*, const T*, int, T*, int);         \
  int cublas##L##dgmm(Handle*, int, int, int, const T*, int, const T*, int, T*, int);                                  \
  int cublas##L##getrfBatched(Handle*, int, T* const*, int, int*, int*, int);                                          \
  int cublas##L##getriBatched(Handle*, int, const T* const*, int, const int*, T* const*, int, int*, int);              \
  int cublas##L##getrsBatched(Handle*, int, int, int, const T* const*, int, const int*, T* const*, int, int*, int);    \
  void l##axpy_(const int*, const T*, const T*, const int*, T*, const int*);                                           \
  R nrm2_name(const int*, const T*, const int*);                                                                       \
  int amax_name(const int*, const T*, const int*);                                                                     \
  void l##gemv_(const char*, const int*, const int*, const T*, const T*, const int*, const T*, const int*, const T*,   \
                T*, const int*);                                                                                       \
  void l##gbmv_(const char*, const int*, const int*, const int*, const int*, const T*, const T*, const int*, const T*, \
                const int*, const T*, T*, const int*);                                                                 \
  void l##he##mv_(const char*, const int*, const T*, const T*, const int*, const T*, const int*, const T*, T*,         \
                  const int*);                                                                                         \
  void l##sb##mv_(const char*, const int*, const int*, const T*, const T*, const int*, const T*, const int*, const T*, \
                  T*, const int*);                                                                                     \
  void l##sp##mv_(const char*, const int*, const T*, const T*, const T*, const int*, const T*, T*, const int*);        \
  void l##trmv_(const char*, const char*, const char*, const int*, const T*, const int*, T*, const int*);              \
  void l##trsv_(const char*, const char*, const char*, const int*, const T*, const int*, T*, const int*);              \
  void l##tbmv_(const char*, const char*, const char*, const int*, const int*, const T*, const int*, T*, const int*);  \
  void l##tbsv_(const char*, const char*, const char*, const int*, const int*, const T*, const int*, T*, const int*);  \
  void l##tpmv_(const char*, const char*, const char*, const int*, const T*, T*, const int*);                          \
  void l##tpsv_(const char*, const char*, const char*, const int*, const T*, T*, const int*);                          \
  void l##gerc_name##_(const int*, const int*, const T*, const T*, const int*, const T*, const int*, T*, const int*);  \
  void l##he##r_(const char*, const int*, const R*, const T*, const int*, T*, const int*);                             \
  void l##sp##r_(const char*, const int*, const R*, const T*, const int*, T*);                                         \
  void l##he##r2_(const char*, const int*, const T*, const T*, const int*, const T*, const int*, T*, const int*);      \
  void l##sp##r2_(const char*, const int*, const T*, const T*, const int*, const T*, const int*, T*);                  \
  void l##gemm_(const char*, const char*, const int*, const int*, const int*, const T*, const T*, const int*,          \
                const T*, const int*, const T*, T*, const int*);                                                       \
  void l##symm_(const char*, const char*, const int*, const int*, const T*, const T*, const int*, const T*,            \
                const int*, const T*, T*, const int*);                                                                 \
  void l##he##mm_(const char*, const char*, const int*, const int*, const T*, const T*, const int*, const T*,          \
                  const int*, const T*, T*, const int*);                                                               \
  void l##syrk_(const char*, const char*, const int*, const int*, const T*, const T*, const int*, const T*, T*,        \
                const int*);                                                                                           \
  void l##he##rk_(const char*, const char*, const int*, const int*, const R*, const T*, const int*, const R*, T*,      \
                  const int*);                                                                                         \
  void l##he##r2k_(const char*, const char*, const int*, const int*, const T*, const T*, const int*, const T*,         \
                   const int*, const R*, T*, const int*);                                                              \
  void l##trmm_(const char*, const char*, const char*, const char*, const int*, const int*, const T*, const T*,        \
                const int*, T*, const int*);                                                                           \
  void l##trsm_(const char*, const char*, const char*, const char*, const int*, const int*, const T*, const T*,        \
                const int*, T*, const int*);                                                                           \
  }                                                                                                                    \
  template <>                                                                                                          \
  struct Api<T> {                                                                                                      \
    using Real = R;                                                                                                    \
    static constexpr auto axpy = cublas##L##axpy_v2;                                                                   \
    static constexpr auto copy = cublas##L##copy_v2;                                                                   \
    static constexpr auto swap = cublas##L##swap_v2;                                                                   \
    static constexpr auto scal = cublas##L##scal_v2;                                                                   \
    static constexpr auto nrm2 = cublas##NRM2##_v2;                                                                    \
    static constexpr auto asum = cublas##ASUM##_v2;                                                                    \
    static constexpr auto amax = cublasI##AMAX##amax_v2;                                                               \
    static constexpr auto amin = cublasI##AMAX##amin_v2;                                                               \
    static constexpr auto gemv = cublas##L##gemv_v2;                                                                   \
    static constexpr auto gbmv = cublas##L##gbmv_v2;                                                                   \
    static constexpr auto hemv = cublas##L##HE##mv_v2;                                                                 \
    static constexpr auto hbmv = cublas##L##SB##mv_v2;                                                                 \
    static constexpr auto hpmv = cublas##L##SP##mv_v2;                                                                 \
    static constexpr auto trmv = cublas##L##trmv_v2, trsv = cublas##L##trsv_v2;                                        \
    static constexpr auto tbmv = cublas##L##tbmv_v2, tbsv = cublas##L##tbsv_v2;                                        \
    static constexpr auto tpmv = cublas##L##tpmv_v2, tpsv = cublas##L##tpsv_v2;                                        \
    static constexpr auto gerc = cublas##L##GERC##_v2;                                                                 \
    static constexpr auto her = cublas##L##HE##r_v2;                                                                   \
    static constexpr auto hpr = cublas##L##SP##r_v2;                                                                   \
    static constexpr auto her2 = cublas##L##HE##r2_v2;                                                                 \
    static constexpr auto hpr2 = cublas##L##SP##r2_v2;                                                                 \
    static constexpr auto gemm = cublas##L##gemm_v2;                                                                   \
    static constexpr auto gemm_64 = cublas##L##gemm_v2_64;                                                             \
    static constexpr auto gemm_batched = cublas##L##gemmBatched;                                                       \
    static constexpr auto gemm_strided = cublas##L##gemmStridedBatched;                                                \
    static constexpr auto symm = cublas##L##symm_v2, hemm = cublas##L##HE##mm_v2;                                      \
    static constexpr auto syrk = cublas##L##syrk_v2;                                                                   \
    static constexpr auto herk = cublas##L##HE##rk_v2;                                                                 \
    static constexpr auto her2k = cublas##L##HE##r2k_v2;                                                               \
    static constexpr auto trmm = cublas##L##trmm_v2;                                                                   \
    static constexpr auto trsm = cublas##L##trsm_v2;                                                                   \
    static constexpr auto geam = cublas##L##geam;                                                                      \
    static constexpr auto dgmm = cublas##L##dgmm;                                                                      \
    static constexpr auto getrf = cublas##L##getrfBatched;                                                             \
    static constexpr auto getri = cublas##L##getriBatched;                                                             \
    static constexpr auto getrs = cublas##L##getrsBatched;                                                             \
    static constexpr auto their_axpy = l##axpy_;                                                                       \
    static constexpr auto their_nrm2 = nrm2_name;                                                                      \
    static constexpr auto their_amax = amax_name;                                                                      \
    static constexpr auto their_gemv = l##gemv_;                                                                       \
    static constexpr auto their_gbmv = l##gbmv_;                                                                       \
    static constexpr auto their_hemv = l##he##mv_;                                                                     \
    static constexpr auto their_hbmv = l##sb##mv_;                                                                     \
    static constexpr auto their_hpmv = l##sp##mv_;                                                                     \
    static constexpr auto their_trmv = l##trmv_, their_trsv = l##trsv_;                                                \
    static constexpr auto their_tbmv = l##tbmv_, their_tbsv = l##tbsv_;                                                \
    static constexpr auto their_tpmv = l##tpmv_, their_tpsv = l##tpsv_;                                                \
    static constexpr auto their_gerc = l##gerc_name##_;                                                                \
    static constexpr auto their_her = l##he##r_;                                                                       \
    static constexpr auto their_hpr = l##sp##r_;                                                                       \
    static constexpr auto their_her2 = l##he##r2_;                                                                     \
    static constexpr auto their_hpr2 = l##sp##r2_;                                                                     \
    static constexpr auto their_gemm = l##gemm_;                                                                       \
    static constexpr auto their_symm = l##symm_, their_hemm = l##he##mm_;                                              \
    static constexpr auto their_syrk = l##syrk_;                                                                       \
    static constexpr auto their_herk = l##he##rk_;                                                                     \
    static constexpr auto their_her2k = l##he##r2k_;                                                                   \
    static constexpr auto their_trmm = l##trmm_, their_trsm = l##trsm_;                                                \
  };

BLAS_API(S, s, float, float, sy, sy, sp, sp, sb, sb, ger, ger, Snrm2, snrm2_, Sasum, s, isamax_)
BLAS_API(D, d, double, double, sy, sy, sp, sp, sb, sb, ger, ger, Dnrm2, dnrm2_, Dasum, d, idamax_)
BLAS_API(C, c, Single, float, he, he, hp, hp, hb, hb, gerc, gerc, Scnrm2, scnrm2_, Scasum, c, icamax_)
BLAS_API(Z, z, Double, double, he, he, hp, hp, hb, hb, gerc, gerc, Dznrm2, dznrm2_, Dzasum, z, izamax_)
#undef BLAS_API

}  // namespace blas_test
