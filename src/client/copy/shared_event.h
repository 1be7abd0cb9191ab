// What an event of several processes (CU_EVENT_INTERPROCESS) consists of: words of memory that its process has
// exported.
//
//   word 0          how often it has been recorded, in whichever process
//   word 1 + n%511  the number n of the last of those recordings that has been reached
//
// Recording it counts word 0 up at once, so that a process that is told of it afterwards sees it, and writes the number
// into its word when the stream gets there, or will not get there any more, since its process has ended or failed. Who
// waits does so for that word (client/copy/value_waits.h). When the process that has created it ends, all words become
// so large that nobody waits any more.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "client/base/answer.h"
#include "client/context/shared_recordings.h"
#include "client/context/stream.h"
#include "client/copy/value_condition.h"
#include "client/memory/shared_memory.h"

namespace tutti::client {

class Context;

// Thread-safe.
class SharedEvent final : public SharedRecordings {
 public:
  // OUT_OF_MEMORY.
  static Answer<std::unique_ptr<SharedEvent>> Create(Context& context);
  // What another process has exported. INVALID_CONTEXT in that process itself.
  static Answer<std::unique_ptr<SharedEvent>> Open(Context& context, const wire::ExportedMemory& name);
  ~SharedEvent() override;
  SharedEvent(const SharedEvent&) = delete;

  Answer<wire::ExportedMemory> Name() override;
  // If as many recordings are under way as there are words, waits for the oldest.
  Answer<uint64_t> Record(Stream& stream) override;
  bool IsLast(uint64_t number) const override;
  int Query() const override;
  int Synchronize() const override;
  int MakeWait(Stream& stream) const override;

 private:
  static constexpr uint64_t kWords = 511;
  static constexpr uint64_t kBytes = 4096;  // a page: nothing less can be shared

  SharedEvent(uint64_t words, bool own) : words_(words), own_(own) {}
  ValueCondition ReachedBy(uint64_t number) const;
  // None if it was never recorded. An error if the words cannot be read.
  Answer<std::optional<ValueCondition>> LastRecording() const;

  const uint64_t words_;
  const bool own_;
};

}  // namespace tutti::client
