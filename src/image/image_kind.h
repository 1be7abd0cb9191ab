// The kinds of module image, distinguished by their first bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tutti::image {

enum class ImageKind : uint8_t {
  kUnknown,
  kWrapper,  // fatbin wrapper: valid only inside the process that has it
  kFatbin,     // one or more fat binaries
  kElf,        // cubin
  kArchive,    // "!<arch>": host library with device code
  kImageList,  // our own container (image_list.h)
  kPtx,        // text
};

inline constexpr uint32_t kWrapperMagic = 0x466243b1;
inline constexpr uint32_t kFatbinMagic = 0xba55ed50;
inline constexpr uint32_t kElfMagic = 0x464c457f;

// Text counts as PTX if its first word can begin PTX: white space, a comment or a directive.
ImageKind KindOf(std::span<const uint8_t> bytes);
std::string_view NameOf(ImageKind kind);  // "a cubin"

}  // namespace tutti::image
