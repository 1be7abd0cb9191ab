// The modules of the conformance suite, as PTX: whichever backend compiles them. Every kernel takes four 64-bit
// arguments.
#pragma once

#include <cstdint>
#include <string_view>

namespace tutti::device::cts {

extern const std::string_view kEmpty;      // a kernel that does nothing
extern const std::string_view kAdd;        // counter, value: every thread: atomicAdd(counter, value)
extern const std::string_view kAwait;      // word: waits until that of 64 bits is not 0
extern const std::string_view kVariables;  // .u32 v = kValueOfV, .u64 p = &v, .const .u32 k = kValueOfK, and a kernel
extern const std::string_view kManaged;  // .attribute(.managed) .u32 m[2] = kValueOfM, 0; a kernel adds b to m[1]
extern const std::string_view kBroken;  // does not parse: line 4

inline constexpr uint32_t kValueOfV = 0x600d;
inline constexpr uint32_t kValueOfK = 0xcafe;
inline constexpr uint32_t kValueOfM = 0xd00d;

}  // namespace tutti::device::cts
