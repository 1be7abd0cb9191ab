// Compiled code on disk. An entry is a file named after its key: the bytes, then a trailer with their checksum, so that
// an entry that holds a shared object can be loaded as it is.
//
// Entries are written under another name and renamed, so one that is there is whole, unless the disk lied; the checksum
// is compared each time. A damaged entry is removed and counts as missing. When all entries together exceed the limit,
// those unused for longest go.
//
// Thread-safe, and several processes of one user may share a folder: each looks at all of it again after every
// sixteenth of the limit that it has stored itself, and exceeds the limit by no more.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/compile/cache_folder.h"
#include "device/compile/cache_key.h"
#include "os/fd.h"

namespace tutti::device {

class CodeCache {
 public:
  // Tries `folder`, then a temporary one (with a warning in the log); without either it keeps nothing.
  // An empty `folder` keeps nothing.
  CodeCache(const std::string& folder, uint64_t max_bytes);
  ~CodeCache();
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  struct Entry {
    os::Fd file;  // open for reading
    std::vector<uint8_t> bytes;  // without the trailer
  };
  std::optional<Entry> Find(const CacheKey& key);
  // Fails where the disk is full or the folder gone; nothing is left behind then.
  Status Store(const CacheKey& key, std::span<const uint8_t> bytes);

  const std::string& path() const { return folder_.path; }  // empty: keeps nothing

 private:
  void KeepWithinLimit(uint64_t added);

  CacheFolder folder_;
  const uint64_t max_bytes_;
  std::atomic<uint64_t> next_temporary_{0};
  std::mutex size_mutex_;
  uint64_t known_bytes_ = 0;  // at the last look at the folder, plus what was stored since
  uint64_t stored_bytes_ = 0;  // since then
  bool looked_ = false;
};

}  // namespace tutti::device
