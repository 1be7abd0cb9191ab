// What each CUresult means, in a few words for a person (cuGetErrorString).
#pragma once

namespace tutti::client {

// Null for a number that is no CUresult.
const char* ErrorText(int result);

}  // namespace tutti::client
