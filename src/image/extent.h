// The number of bytes behind an image pointer. The driver API takes pointers without sizes, but the client must copy
// the bytes to the server, and only their own headers say how many there are. They are the program's own memory, so
// only the headers' consistency is checked, and no byte is read that the headers do not claim.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "image/image_kind.h"

namespace tutti::image {

// The images behind `image`: one, except for a wrapper of separately compiled code, whose translation units are to be
// linked together (PackImageList). Follows a wrapper to its fat binaries; PTX text is without its closing NUL. Error:
// CUDA_ERROR_INVALID_IMAGE.
Result<std::vector<std::span<const uint8_t>>> FindImages(const void* image);

}  // namespace tutti::image
