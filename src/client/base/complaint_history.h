// The last explanations of the caller's mistakes (complaint.h), for programs that ask for them: cuLogs*, and the file
// that CUDA_LOG_FILE names. A line is "[hh:mm:ss.mmm][thread][CUDA][E] text". Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <string_view>

namespace tutti::client {

class ComplaintHistory {
 public:
  // What the driver's documentation says that it keeps.
  static constexpr size_t kMostBytes = 25'600;
  // Called with (data, 0 for an error, line, its length), by the thread that made the mistake, with nothing locked.
  using Callback = void (*)(void* data, int level, char* line, size_t length);
  struct Listener {
    Callback callback;
    void* data;
  };

  // The process's.
  static ComplaintHistory& Get();

  // Keeps the line, writes it where CUDA_LOG_FILE says, and tells the listeners. Never blocks for long: a line is lost
  // rather than a child hangs that was forked while another thread held the lock.
  void Add(std::string_view text);

  // The number of the next line.
  uint32_t next() const;
  // Lines from number `from` on that fit into `most_bytes`, the newest of them; each ends in a newline. If some are
  // left out, or have been overwritten, the first line says so. Empty if there are none, or if not one fits.
  struct Lines {
    std::string text;
    uint32_t next;  // the number of the next line
    bool any;  // there were lines
  };
  Lines From(uint32_t from, size_t most_bytes) const;
  // The number of the oldest line that is kept.
  uint32_t oldest() const;

  // The listener's place is its handle, until Remove.
  const Listener* Listen(Callback callback, void* data);
  // False if it is no handle.
  bool Remove(const void* listener);

 private:
  mutable std::mutex mutex_;
  std::list<std::string> lines_;
  size_t bytes_ = 0;
  uint32_t next_ = 0;
  std::list<Listener> listeners_;
};

}  // namespace tutti::client
