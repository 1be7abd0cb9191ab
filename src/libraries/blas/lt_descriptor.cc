// Descriptors are made, and their attributes set and read, by tables: number, place, size.
#include "libraries/blas/lt_descriptor.h"

#include <cstdlib>
#include <cstring>

#include "libraries/blas/abi.h"

namespace tutti::blas::lt {
namespace {

struct Attribute {
  int number;
  size_t offset, bytes;
};
#define PLACE(type, number, member) {number, offsetof(type, member), sizeof(type::member)}

constexpr Attribute kLayout[] = {
    PLACE(Layout, 0, type),         PLACE(Layout, 1, order),        PLACE(Layout, 2, rows),
    PLACE(Layout, 3, columns),      PLACE(Layout, 4, ld),           PLACE(Layout, 5, batches),
    PLACE(Layout, 6, batch_stride), PLACE(Layout, 7, plane_offset), PLACE(Layout, 8, batch_mode),
};
constexpr Attribute kMatmulDesc[] = {
    PLACE(MatmulDesc, 0, compute),       PLACE(MatmulDesc, 1, scale),
    PLACE(MatmulDesc, 2, pointer_mode),  PLACE(MatmulDesc, 3, op_a),
    PLACE(MatmulDesc, 4, op_b),          PLACE(MatmulDesc, 5, op_c),
    PLACE(MatmulDesc, 6, fill),          PLACE(MatmulDesc, 7, epilogue),
    PLACE(MatmulDesc, 8, bias),          PLACE(MatmulDesc, 10, bias_stride),
    PLACE(MatmulDesc, 11, aux),          PLACE(MatmulDesc, 12, aux_ld),
    PLACE(MatmulDesc, 13, aux_stride),   PLACE(MatmulDesc, 14, alpha_vector_stride),
    PLACE(MatmulDesc, 15, sm_count),     PLACE(MatmulDesc, 17, a_scale),
    PLACE(MatmulDesc, 18, b_scale),      PLACE(MatmulDesc, 19, c_scale),
    PLACE(MatmulDesc, 20, d_scale),      PLACE(MatmulDesc, 21, amax_d),
    PLACE(MatmulDesc, 22, aux_type),     PLACE(MatmulDesc, 23, aux_scale),
    PLACE(MatmulDesc, 24, aux_amax),     PLACE(MatmulDesc, 25, fast_accumulation),
    PLACE(MatmulDesc, 26, bias_type),    PLACE(MatmulDesc, 31, a_scale_mode),
    PLACE(MatmulDesc, 32, b_scale_mode), PLACE(MatmulDesc, 33, c_scale_mode),
    PLACE(MatmulDesc, 34, d_scale_mode), PLACE(MatmulDesc, 35, aux_scale_mode),
    PLACE(MatmulDesc, 36, d_out_scale),  PLACE(MatmulDesc, 37, d_out_scale_mode),
    PLACE(MatmulDesc, 38, emulation),
};
constexpr Attribute kPreference[] = {
    PLACE(Preference, 0, search_mode), PLACE(Preference, 1, workspace_bytes), PLACE(Preference, 3, reduction_mask),
    PLACE(Preference, 5, alignment_a), PLACE(Preference, 6, alignment_b),     PLACE(Preference, 7, alignment_c),
    PLACE(Preference, 8, alignment_d), PLACE(Preference, 9, most_waves),      PLACE(Preference, 12, implementations),
};

template <size_t kCount>
const Attribute* Find(const Attribute (&table)[kCount], int number) {
  for (const Attribute& attribute : table) {
    if (attribute.number == number) return &attribute;
  }
  return nullptr;
}

template <size_t kCount>
Status Set(const Attribute (&table)[kCount], void* descriptor, int number, const void* value, size_t bytes) {
  const Attribute* const attribute = Find(table, number);
  if (descriptor == nullptr || value == nullptr || attribute == nullptr || bytes != attribute->bytes)
    return kInvalidValue;
  std::memcpy(static_cast<char*>(descriptor) + attribute->offset, value, bytes);
  return kSuccess;
}

template <size_t kCount>
Status Get(const Attribute (&table)[kCount], const void* descriptor, int number, void* value, size_t bytes,
           size_t* written) {
  const Attribute* const attribute = Find(table, number);
  if (descriptor == nullptr || attribute == nullptr || (bytes == 0 && written == nullptr)) return kInvalidValue;
  if (written != nullptr) *written = attribute->bytes;
  if (bytes == 0) return kSuccess;
  if (value == nullptr || bytes != attribute->bytes) return kInvalidValue;
  std::memcpy(value, static_cast<const char*>(descriptor) + attribute->offset, bytes);
  return kSuccess;
}

template <typename D>
Status Fill(void* place, size_t bytes, const D& with) {
  if (place == nullptr || bytes < sizeof with) return kInvalidValue;
  std::memset(place, 0, bytes);
  std::memcpy(place, &with, sizeof with);
  return kSuccess;
}

template <typename D>
Status Make(void** descriptor, size_t bytes, const D& with) {
  if (descriptor == nullptr) return kInvalidValue;
  *descriptor = std::malloc(bytes);
  return *descriptor == nullptr ? kAllocFailed : Fill(*descriptor, bytes, with);
}

Layout LayoutOf(int type, uint64_t rows, uint64_t columns, int64_t ld) {
  Layout layout{};
  layout.type = type;
  layout.rows = rows;
  layout.columns = columns;
  layout.ld = ld;
  layout.batches = 1;
  return layout;
}
MatmulDesc MatmulDescOf(int compute, int scale) {
  MatmulDesc desc{};
  desc.compute = compute;
  desc.scale = scale;
  desc.fill = kFull;
  desc.epilogue = kNoEpilogue;
  desc.bias_type = desc.aux_type = -1;
  return desc;
}
Preference AnyPreference() {
  Preference preference{};
  preference.reduction_mask = UINT32_MAX;
  preference.alignment_a = preference.alignment_b = preference.alignment_c = preference.alignment_d = 256;
  preference.implementations = UINT64_MAX;
  return preference;
}

Status Free(void* descriptor) {
  std::free(descriptor);
  return kSuccess;
}

}  // namespace

BLAS_EXPORT cublasLtMatrixLayoutInit_internal(void* layout, size_t bytes, int type, uint64_t rows, uint64_t columns,
                                              int64_t ld) {
  return Fill(layout, bytes, LayoutOf(type, rows, columns, ld));
}
BLAS_EXPORT cublasLtMatrixLayoutCreate(void** layout, int type, uint64_t rows, uint64_t columns, int64_t ld) {
  return Make(layout, kLayoutBytes, LayoutOf(type, rows, columns, ld));
}
BLAS_EXPORT cublasLtMatrixLayoutDestroy(void* layout) { return Free(layout); }
BLAS_EXPORT cublasLtMatrixLayoutSetAttribute(void* layout, int number, const void* value, size_t bytes) {
  return Set(kLayout, layout, number, value, bytes);
}
BLAS_EXPORT cublasLtMatrixLayoutGetAttribute(const void* layout, int number, void* value, size_t bytes,
                                             size_t* written) {
  return Get(kLayout, layout, number, value, bytes, written);
}

BLAS_EXPORT cublasLtMatmulDescInit_internal(void* desc, size_t bytes, int compute, int scale) {
  return Fill(desc, bytes, MatmulDescOf(compute, scale));
}
BLAS_EXPORT cublasLtMatmulDescCreate(void** desc, int compute, int scale) {
  return Make(desc, kMatmulDescBytes, MatmulDescOf(compute, scale));
}
BLAS_EXPORT cublasLtMatmulDescDestroy(void* desc) { return Free(desc); }
BLAS_EXPORT cublasLtMatmulDescSetAttribute(void* desc, int number, const void* value, size_t bytes) {
  return Set(kMatmulDesc, desc, number, value, bytes);
}
BLAS_EXPORT cublasLtMatmulDescGetAttribute(const void* desc, int number, void* value, size_t bytes, size_t* written) {
  return Get(kMatmulDesc, desc, number, value, bytes, written);
}

BLAS_EXPORT cublasLtMatmulPreferenceInit_internal(void* preference, size_t bytes) {
  return Fill(preference, bytes, AnyPreference());
}
BLAS_EXPORT cublasLtMatmulPreferenceCreate(void** preference) {
  return Make(preference, kPreferenceBytes, AnyPreference());
}
BLAS_EXPORT cublasLtMatmulPreferenceDestroy(void* preference) { return Free(preference); }
BLAS_EXPORT cublasLtMatmulPreferenceSetAttribute(void* preference, int number, const void* value, size_t bytes) {
  return Set(kPreference, preference, number, value, bytes);
}
BLAS_EXPORT cublasLtMatmulPreferenceGetAttribute(const void* preference, int number, void* value, size_t bytes,
                                                 size_t* written) {
  return Get(kPreference, preference, number, value, bytes, written);
}

}  // namespace tutti::blas::lt
