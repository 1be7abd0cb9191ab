// The runtime's integrity check of its driver: a MAC over facts of this process that both sides know. A wrong answer
// makes every runtime call fail with cudaErrorSoftwareValidityNotEstablished.
#pragma once

#include <cstdint>

namespace tutti::client {

// `version`: the runtime's version + 0, 1 or 2; `unix_seconds`: its clock. `called`: the address of the function that
// was called. Thread-safe; must run on the calling thread, whose id is part of the message.
void IntegrityAnswer(uint32_t version, uint64_t unix_seconds, uint64_t called, uint64_t result[2]);

}  // namespace tutti::client
