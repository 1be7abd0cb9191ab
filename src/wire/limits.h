// Fixed sizes of the client-server protocol, version kProtocolVersion. Both sides are built from the same tree; the
// handshake refuses a client of another version with a text that names both.
#pragma once

#include <cstdint>

namespace tutti::wire {

inline constexpr uint32_t kProtocolVersion = 1;

inline constexpr uint32_t kSlotBytes = 128;
inline constexpr uint32_t kRingSlots = 4096;   // power of two
inline constexpr uint32_t kMaxStreams = 8192;  // slots per client; slot 0 is never a stream
inline constexpr uint32_t kMaxEvents = 65536;  // timing slots per client; slot 0 is never an event
inline constexpr uint32_t kReplySlots = 256;
inline constexpr uint32_t kHostCallSlots = 256;  // power of two
inline constexpr uint32_t kMaxDevices = 16;
inline constexpr uint32_t kDeviceAttributes = 160;     // CUdevice_attribute values below this
inline constexpr uint32_t kPrintBytes = 1 << 20;       // power of two; CUDA's default printf FIFO
inline constexpr uint32_t kAssertTextBytes = 1 << 16;  // power of two
inline constexpr uint32_t kMaxArgumentBytes = 32764;   // of one launch, as CUDA since 12.1

// The part of the address space that device windows are cut from: 2 MiB aligned, free of the ranges that loaders and
// the address sanitizer use. Under the thread sanitizer only the first 512 GiB are application memory.
#if defined(__SANITIZE_THREAD__)
#define TUTTI_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TUTTI_TSAN 1
#endif
#endif
#ifdef TUTTI_TSAN
inline constexpr uint64_t kWindowArenaBase = 0x10'0000'0000;
inline constexpr uint64_t kWindowArenaEnd = 0x70'0000'0000;
inline constexpr uint64_t kLeastWindows = 48;  // of 8 GiB: tests need few large windows rather than many small ones
#else
inline constexpr uint64_t kWindowArenaBase = 0x2000'0000'0000;
inline constexpr uint64_t kWindowArenaEnd = 0x5000'0000'0000;
inline constexpr uint64_t kLeastWindows = 64;  // more than clients of MPS; smaller devices have far more
#endif

}  // namespace tutti::wire
