// What cublasCreate makes: the stream and the modes of the calls that are made with it.
#pragma once

#include <mutex>

#include "libraries/blas/abi.h"
#include "libraries/blas/kernels.h"

namespace tutti::blas {

// Thread-safe as cuBLAS' is: calls with one handle may come from several threads as long as none changes its settings.
class Handle {
 public:
  // For the current context. Fails as cublasCreate does.
  static Status Make(Handle** handle);
  ~Handle();
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  // Whether `handle` is one: not null, and made by Make as far as can be seen.
  static bool IsOne(const Handle* handle) { return handle != nullptr && handle->mark_ == kMark; }

  // Results for the host, of one call at a time: memory that kernels write and the host reads. Lock before use.
  std::mutex& result_lock() { return result_lock_; }
  void* result() const { return result_; }

  CUstream_st* stream = nullptr;
  int pointer_mode = kHost;
  int math_mode = 0;
  int atomics_mode = 0;
  int sm_count_target = 0;
  int emulation_strategy = 0;
  int special_values = 0;
  int mantissa_control = 0;
  int mantissa_bits = 0;
  int mantissa_offset = 0;
  int* mantissa_place = nullptr;

 private:
  Handle() = default;

  static constexpr uint64_t kMark = 0x746c6e6168626c61;
  uint64_t mark_ = kMark;
  void* result_ = nullptr;
  std::mutex result_lock_;
};

// A factor that a program passes, in the handle's pointer mode.
template <typename T>
Scalar ScalarOf(const Handle& handle, const T* value) {
  if (handle.pointer_mode != kHost) return {0, 0, value, kTypeOf<T>};
  if constexpr (kTypeOf<T> == Type::kC32 || kTypeOf<T> == Type::kC64) {
    return {value->re, value->im, nullptr, kTypeOf<T>};
  } else {
    return {static_cast<double>(*value), 0, nullptr, kTypeOf<T>};
  }
}
inline constexpr Scalar kOne = {1, 0, nullptr, Type::kF64};
inline constexpr Scalar kMinusOne = {-1, 0, nullptr, Type::kF64};
inline constexpr Scalar kZero = {0, 0, nullptr, Type::kF64};
// What is known to be zero before the kernel runs.
inline bool IsZero(const Scalar& scalar) { return scalar.place == nullptr && scalar.re == 0 && scalar.im == 0; }

inline int64_t BlocksFor(int64_t items, int64_t each) { return (items + each - 1) / each; }

}  // namespace tutti::blas

// The first lines of every function that takes a handle.
#define BLAS_CHECK_HANDLE(handle) \
  if (!::tutti::blas::Handle::IsOne(handle)) return ::tutti::blas::kNotInitialized
#define BLAS_CHECK(condition) \
  if (!(condition)) return ::tutti::blas::kInvalidValue
#define BLAS_TRY(call) \
  if (const ::tutti::blas::Status tried = (call); tried != ::tutti::blas::kSuccess) return tried
