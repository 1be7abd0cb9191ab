// Links relocatable objects to a shared object, with lld as a library and without a file system: inputs and output are
// memory files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace tutti::compiler {

// Links the kernel's object with the guest runtime's support object, of which only what is called is kept. The result
// has no undefined symbols and needs no library; `name` becomes its soname, which perf and gdb show. Fails with lld's
// message if the kernel refers to anything outside. One link at a time per process (lld's state is global): other
// threads wait. Standard output is redirected meanwhile.
Result<std::vector<uint8_t>> LinkSharedObject(std::span<const uint8_t> kernel, std::span<const uint8_t> support,
                                              const std::string& name);

}  // namespace tutti::compiler
