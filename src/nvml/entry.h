// What every exported function checks first: that the library is initialised, the handle is one of ours, and the device
// still exists. And answers in text, in buffers whose length the caller gives.
#pragma once

#include <cstring>
#include <new>
#include <string_view>

#include "nvml/session.h"

#define NVML_EXPORT extern "C" __attribute__((visibility("default"))) nvmlReturn_t

namespace tutti::nvml {

// Throws nothing into the program: the only possible failure is lack of memory.
template <typename Body>
nvmlReturn_t Guarded(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return NVML_ERROR_MEMORY;
  } catch (...) {
    return NVML_ERROR_UNKNOWN;
  }
}

// body(const View&), with what is there now.
template <typename Body>
nvmlReturn_t WithView(Body body) {
  return Guarded([&] {
    if (!Session::active()) return NVML_ERROR_UNINITIALIZED;
    const auto view = Session::Now();
    return view == nullptr ? NVML_ERROR_DRIVER_NOT_LOADED : body(*view);
  });
}

// body(const View&, const Device&, index) with the handle's device. `arguments` are the pointers that may not be null.
template <typename Body, typename... Pointers>
nvmlReturn_t WithDevice(nvmlDevice_t handle, Body body, Pointers... pointers) {
  return Guarded([&] {
    if (!Session::active()) return NVML_ERROR_UNINITIALIZED;
    if (!IsHandle(handle) || (... || (pointers == nullptr))) return NVML_ERROR_INVALID_ARGUMENT;
    const auto view = Session::Now();
    if (view == nullptr) return NVML_ERROR_DRIVER_NOT_LOADED;
    const Found found = Find(*view, handle);
    return found.device == nullptr ? NVML_ERROR_GPU_IS_LOST : body(*view, *found.device, found.index);
  });
}

// A figure that no device here has.
inline nvmlReturn_t Lacking(nvmlDevice_t handle) {
  return Guarded([&] {
    if (!Session::active()) return NVML_ERROR_UNINITIALIZED;
    return IsHandle(handle) ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
  });
}

inline nvmlReturn_t Write(std::string_view text, char* buffer, size_t bytes) {
  if (buffer == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (text.size() >= bytes) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = '\0';
  return NVML_SUCCESS;
}

// The same into a field of a structure, cut to its size.
template <size_t kBytes>
void Fill(char (&field)[kBytes], std::string_view text) {
  std::memset(field, 0, kBytes);
  std::memcpy(field, text.data(), std::min(text.size(), kBytes - 1));
}

}  // namespace tutti::nvml
