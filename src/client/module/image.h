// A program passes code to the driver as a bare pointer. image/extent.h determines its kind and length; this header
// packs it for the server.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "client/base/answer.h"

namespace tutti::client {

// The images behind a pointer, in the program's memory. A relocatable program has several, which are linked together.
using ImageParts = std::vector<std::span<const uint8_t>>;

// INVALID_VALUE for null, INVALID_IMAGE for an unknown format (with a log line). Also accepts the linker's output.
Answer<ImageParts> FindImage(const void* image);

// The bytes to send: a single image as it is, several as an image list.
std::vector<uint8_t> JoinParts(const ImageParts& parts);

}  // namespace tutti::client
