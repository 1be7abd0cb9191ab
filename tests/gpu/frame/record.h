// One line of results.jsonl. Each line is self-contained and written at once, by one append: whatever happens to the
// process, or to the run, its measurements stay.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace tutti::gpu {

class Record {
 public:
  // Of this process's step.
  Record();
  // Of another step: for the run, which writes how a step ended.
  Record(std::string_view section, std::string_view probe, std::string_view step);

  Record& Set(std::string_view name, double value);
  Record& Set(std::string_view name, bool value);
  Record& Set(std::string_view name, std::string_view value);
  Record& Set(std::string_view name, const char* value) { return Set(name, std::string_view(value)); }
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Record& Set(std::string_view name, T value) {
    return Set(name, static_cast<double>(value));
  }
  // Appends the line to `fd`.
  void Write(int fd = -1);

 private:
  std::string text_;
};

// How a step ended, in the words of its last line ("outcome"). `reason` is for people.
enum class Outcome { kDone, kLacks, kFailed };

// Ends this process and says why: the driver lacks something (kLacks: also what the machine does not have), or
// something went wrong (kFailed).
[[noreturn]] void GiveUp(Outcome outcome, std::string_view reason);
// For a peer: it tells the process at the other end of this channel, which gives up with the same words.
void GiveUpBy(int channel);
inline constexpr int kGaveUp = 3;  // the exit status of a process that has said why

}  // namespace tutti::gpu
