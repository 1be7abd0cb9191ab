#include "device/compile/compiler_identity.h"

#include <cpuid.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>

#include "guest/cpu/kernel_abi.h"

namespace tutti::device {
namespace {

// Family, model and features from CPUID; and which registers the kernel saves.
void AddProcessor(KeyBuilder* key) {
  struct Leaf {
    unsigned leaf, subleaf;
  };
  for (const Leaf& at : {Leaf{1, 0}, Leaf{7, 0}, Leaf{7, 1}, Leaf{0x80000001, 0}}) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    __get_cpuid_count(at.leaf, at.subleaf, &a, &b, &c, &d);
    if (at.leaf == 1) b = 0;  // the number of the executing core
    if (at.leaf == 1) c &= ~(1u << 27);  // OSXSAVE: see below
    key->Add(uint64_t{a} << 32 | b).Add(uint64_t{c} << 32 | d);
  }
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 27 & 1) != 0) {
    unsigned low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    key->Add(uint64_t{high} << 32 | low);
  }
}

}  // namespace

CacheKey CompilerIdentity(const std::string& compiler) {
  KeyBuilder key;
  key.Add(TUTTI_VERSION).Add(guest::kAbiVersion);
  struct stat info{};
  if (stat(compiler.c_str(), &info) == 0) {
    key.Add(static_cast<uint64_t>(info.st_size));
    key.Add(static_cast<uint64_t>(info.st_mtim.tv_sec)).Add(static_cast<uint64_t>(info.st_mtim.tv_nsec));
  }
  AddProcessor(&key);
  const char* cpu = std::getenv("TUTTI_CPU");  // the compiler takes the processor for that one
  key.Add(cpu != nullptr ? cpu : "");
  return key.Finish();
}

}  // namespace tutti::device
