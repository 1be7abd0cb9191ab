// What a program hands to the driver as code: a pointer, and nothing else. image/extent.h finds out what it is and how
// long; here it is put together for the server.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "client/base/answer.h"

namespace tutti::client {

// The images behind a pointer, where the program keeps them. A relocatable program has several, which are linked
// together.
using ImageParts = std::vector<std::span<const uint8_t>>;

// INVALID_VALUE for null, INVALID_IMAGE for bytes that are nothing we know (with a log line). Also takes what the
// linker made.
Answer<ImageParts> FindImage(const void* image);

// The bytes to send: one image as it is, several as an image list.
std::vector<uint8_t> JoinParts(const ImageParts& parts);

}  // namespace tutti::client
