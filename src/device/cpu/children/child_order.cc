#include "device/cpu/children/child_order.h"

#include <utility>

#include "device/cpu/cpu_operation.h"

namespace tutti::device::cpu {
namespace {

// One recording of an event.
struct Recording {
  bool reached = false;
  std::vector<ChildStream*> waiting;
};

}  // namespace

struct ChildOrder::Event {
  std::shared_ptr<Recording> last;  // null: never recorded
  HostHold hold;
};

struct ChildStream {
  // A task, or else a recording that is reached or waited for here.
  struct Item {
    CpuOperation* task = nullptr;
    std::shared_ptr<Recording> recording = nullptr;
    bool waits = false;
    HostHold hold = {};
  };

  ChildOrder::Key key;
  std::deque<Item> items;
  CpuOperation* running = nullptr;
  bool waiting = false;  // for the recording in front
  bool destroyed = false;
  HostHold hold;

  bool empty() const { return items.empty() && running == nullptr; }
};

ChildOrder::ChildOrder(uint64_t* pending) : pending_(pending) {}
ChildOrder::~ChildOrder() = default;

uint64_t ChildOrder::CreateStream(HostHold hold) {
  const uint64_t handle = ++last_handle_;
  StreamAt({Key::Kind::kNamed, handle, 0})->hold = std::move(hold);
  return handle;
}

bool ChildOrder::DestroyStream(uint64_t handle) {
  ChildStream* const stream = NamedStream(handle);
  if (stream == nullptr) return false;
  stream->destroyed = true;
  Forget(stream);
  return true;
}

uint64_t ChildOrder::CreateEvent(HostHold hold) {
  const uint64_t handle = ++last_handle_;
  auto event = std::make_unique<Event>();
  event->hold = std::move(hold);
  events_.emplace(handle, std::move(event));
  return handle;
}

bool ChildOrder::DestroyEvent(uint64_t handle) { return events_.erase(handle) != 0; }

ChildStream* ChildOrder::NamedStream(uint64_t handle) const {
  const auto found = streams_.find({Key::Kind::kNamed, handle, 0});
  return found == streams_.end() || found->second->destroyed ? nullptr : found->second.get();
}

ChildStream* ChildOrder::StreamOfBlock(uint64_t block) { return StreamAt({Key::Kind::kBlock, block, 0}); }

ChildStream* ChildOrder::StreamOfThread(uint64_t block, uint32_t thread) {
  return StreamAt({Key::Kind::kThread, block, thread});
}

ChildStream* ChildOrder::StreamOfItsOwn() { return StreamAt({Key::Kind::kOwn, ++last_handle_, 0}); }

ChildStream* ChildOrder::StreamAt(const Key& key) {
  auto& stream = streams_[key];
  if (stream == nullptr) {
    stream = std::make_unique<ChildStream>();
    stream->key = key;
  }
  return stream.get();
}

void ChildOrder::Launch(ChildStream* stream, CpuOperation* task, Ready* ready) {
  ++unfinished_;
  task->child_stream = stream;
  stream->items.push_back({.task = task});
  Advance(stream, ready);
}

bool ChildOrder::Record(uint64_t handle, ChildStream* stream, HostHold hold, Ready* ready) {
  const auto event = events_.find(handle);
  if (event == events_.end()) {
    Forget(stream);  // that has perhaps been made for this
    return false;
  }
  event->second->last = std::make_shared<Recording>();
  ++*pending_;
  stream->items.push_back({.recording = event->second->last, .hold = std::move(hold)});
  Advance(stream, ready);
  return true;
}

bool ChildOrder::Wait(ChildStream* stream, uint64_t handle, HostHold hold, Ready* ready) {
  const auto event = events_.find(handle);
  if (event == events_.end()) {
    Forget(stream);  // that has perhaps been made for this
    return false;
  }
  if (event->second->last != nullptr && !event->second->last->reached) {
    ++*pending_;
    stream->items.push_back({.recording = event->second->last, .waits = true, .hold = std::move(hold)});
  }
  Advance(stream, ready);
  return true;
}

void ChildOrder::Done(CpuOperation* task, Ready* ready) {
  ChildStream* const stream = task->child_stream;
  stream->running = nullptr;
  --unfinished_;
  Advance(stream, ready);
}

// Streams are advanced in turn, not one from within another: a client chooses how many wait for one recording.
void ChildOrder::Advance(ChildStream* first, Ready* ready) {
  std::vector<ChildStream*> streams = {first};
  while (!streams.empty()) {
    ChildStream* const stream = streams.back();
    streams.pop_back();
    while (stream->running == nullptr && !stream->waiting && !stream->items.empty()) {
      const ChildStream::Item item = std::move(stream->items.front());
      stream->items.pop_front();
      if (item.task != nullptr) {
        stream->running = item.task;
        ready->push_back(item.task);
        break;
      }
      --*pending_;
      if (!item.waits) {
        item.recording->reached = true;
        for (ChildStream* const waiting : std::exchange(item.recording->waiting, {})) {
          waiting->waiting = false;
          streams.push_back(waiting);
        }
      } else if (!item.recording->reached) {
        item.recording->waiting.push_back(stream);
        stream->waiting = true;
      }
    }
    Forget(stream);
  }
}

// A stream that nothing waits in, and that nobody has a handle of, comes back when it is named again.
void ChildOrder::Forget(ChildStream* stream) {
  const bool named = stream->key.kind == Key::Kind::kNamed && !stream->destroyed;
  if (stream->empty() && !stream->waiting && !named) streams_.erase(Key(stream->key));
}

bool ChildOrder::BeginTail(Ready* ready) {
  if (tail_.empty()) return false;
  ChildStream* const stream = StreamOfItsOwn();
  for (CpuOperation* const task : std::exchange(tail_, {})) {
    ++unfinished_;
    task->child_stream = stream;
    stream->items.push_back({.task = task});
  }
  Advance(stream, ready);
  return true;
}

void ChildOrder::LaunchBehind(CpuOperation* before, const std::deque<CpuOperation*>& tasks) {
  ChildStream* const stream = before->child_stream;
  for (auto task = tasks.rbegin(); task != tasks.rend(); ++task) {
    ++unfinished_;
    (*task)->child_stream = stream;
    stream->items.push_front({.task = *task});
  }
}

}  // namespace tutti::device::cpu
