#include "client/base/complaint_history.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include "client/base/environment.h"

namespace tutti::client {
namespace {

constexpr std::string_view kLeftOut = "[CUDA][E] earlier lines are left out\n";

std::string Line(std::string_view text) {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  return fmt::format("[{:%H:%M:%S}.{:03}][{}][CUDA][E] {}", fmt::localtime(seconds),
                     now.time_since_epoch().count() % 1000, gettid(), text);
}

// Failures are nobody's business: the program asked for words about its mistakes, and goes on without them.
void WriteWhereAsked(const std::string& line) {
  const std::string name = Environment("CUDA_LOG_FILE");
  if (name.empty()) return;
  const std::string text = line + "\n";
  if (name == "stdout" || name == "stderr") {
    std::ignore = write(name == "stdout" ? STDOUT_FILENO : STDERR_FILENO, text.data(), text.size());
  } else {
    std::ofstream(name, std::ios::app) << text;
  }
}

}  // namespace

ComplaintHistory& ComplaintHistory::Get() {
  static ComplaintHistory* const history = new ComplaintHistory();  // threads may still complain while the process ends
  return *history;
}

void ComplaintHistory::Add(std::string_view text) {
  std::string line = Line(text.substr(0, kMostBytes / 8));
  WriteWhereAsked(line);
  std::vector<Listener> listeners;
  {
    std::unique_lock lock(mutex_, std::try_to_lock);
    for (int i = 0; i < 10'000 && !lock.owns_lock(); ++i) {
      std::this_thread::yield();
      lock.try_lock();
    }
    if (!lock.owns_lock()) return;
    listeners.assign(listeners_.begin(), listeners_.end());
    bytes_ += line.size() + 1;
    ++next_;
    lines_.push_back(line);
    for (; bytes_ > kMostBytes; lines_.pop_front()) bytes_ -= lines_.front().size() + 1;
  }
  for (const Listener& listener : listeners) listener.callback(listener.data, 0, line.data(), line.size());
}

uint32_t ComplaintHistory::next() const {
  const std::lock_guard lock(mutex_);
  return next_;
}

uint32_t ComplaintHistory::oldest() const {
  const std::lock_guard lock(mutex_);
  return next_ - static_cast<uint32_t>(lines_.size());
}

ComplaintHistory::Lines ComplaintHistory::From(uint32_t from, size_t most_bytes) const {
  const std::lock_guard lock(mutex_);
  // Numbers wrap around; one that is not yet given asks for nothing.
  const uint32_t wanted = static_cast<int32_t>(next_ - from) > 0 ? next_ - from : 0;
  const auto available = static_cast<uint32_t>(std::min<size_t>(wanted, lines_.size()));
  size_t bytes = 0;
  uint32_t fitting = 0;
  for (auto line = lines_.rbegin(); fitting < available && bytes + line->size() + 1 <= most_bytes; ++line, ++fitting)
    bytes += line->size() + 1;
  const auto room = [&] { return fitting == wanted || bytes + kLeftOut.size() <= most_bytes; };
  auto first = std::prev(lines_.end(), fitting);
  for (; fitting > 0 && !room(); ++first, --fitting) bytes -= first->size() + 1;
  Lines lines{
      .text = fitting == wanted || fitting == 0 ? "" : std::string(kLeftOut), .next = next_, .any = wanted != 0};
  for (; first != lines_.end(); ++first) lines.text += *first + "\n";
  return lines;
}

const ComplaintHistory::Listener* ComplaintHistory::Listen(Callback callback, void* data) {
  const std::lock_guard lock(mutex_);
  return &listeners_.emplace_back(callback, data);
}

bool ComplaintHistory::Remove(const void* listener) {
  const std::lock_guard lock(mutex_);
  return listeners_.remove_if([listener](const Listener& one) { return &one == listener; }) != 0;
}

}  // namespace tutti::client
