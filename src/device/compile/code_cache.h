// Compiled code on disk. An entry is a file named after its key: the bytes, then a trailer with their checksum, so that
// an entry that holds a shared object can be loaded as it is.
//
// Entries are written under another name and renamed, so an entry is complete unless the disk failed; the checksum is
// verified each time. A damaged entry is removed and counts as missing. When all entries together exceed the limit, the
// least recently used are removed.
//
// Thread-safe, and several processes of one user may share a folder: each rescans it whenever it has stored a sixteenth
// of the limit itself, and exceeds the limit by no more.
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
  // Tries `folder`, then a temporary one (with a warning in the log); without either it stores nothing. An empty
  // `folder` stores nothing.
  CodeCache(const std::string& folder, uint64_t max_bytes);
  ~CodeCache();
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  struct Entry {
    os::Fd file;  // open for reading
    std::vector<uint8_t> bytes;  // without the trailer
  };
  std::optional<Entry> Find(const CacheKey& key);
  // Fails if the disk is full or the folder gone, and leaves nothing behind.
  Status Store(const CacheKey& key, std::span<const uint8_t> bytes);

  const std::string& path() const { return folder_.path; }  // empty: stores nothing

 private:
  void KeepWithinLimit(uint64_t added);

  CacheFolder folder_;
  const uint64_t max_bytes_;
  std::atomic<uint64_t> next_temporary_{0};
  std::mutex size_mutex_;
  uint64_t known_bytes_ = 0;  // at the last scan of the folder, plus what was stored since
  uint64_t stored_bytes_ = 0;  // since then
  bool looked_ = false;
};

}  // namespace tutti::device
