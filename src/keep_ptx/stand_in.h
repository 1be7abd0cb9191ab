// Which library of the CPU device (src/libraries) comes in place of one that a program loads.
#pragma once

#include <cstddef>

namespace tutti::keep_ptx {

// The libraries of the CPU device that one installation has. No memory is allocated: this runs in programs of others.
class StandIns {
 public:
  static constexpr size_t kLongestPath = 4096;

  // Looks for them in `directory`, an absolute path. Once, before any other call.
  void LookIn(const char* directory);

  // The path of ours for what a program loads: a name or a path, of the vendor's library with the major version
  // ("libcublas.so.13", "/.../libcublas.so.13.1.0"). Null if there is none. The text lives as long as this object.
  const char* For(const char* loaded) const;

 private:
  struct Entry {
    const char* name;
    bool there;
    char path[kLongestPath];
  };
  Entry entries_[6] = {{"libcublas.so.12", false, ""},   {"libcublas.so.13", false, ""},
                       {"libcublasLt.so.12", false, ""}, {"libcublasLt.so.13", false, ""},
                       {"libcufft.so.11", false, ""},    {"libcufft.so.12", false, ""}};
};

}  // namespace tutti::keep_ptx
