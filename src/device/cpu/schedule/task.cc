#include "device/cpu/schedule/task.h"

#include "guest/exec/block_run.h"

namespace tutti::device::cpu {

void RunList::Push(guest::BlockRun* run) {
  run->next = nullptr;
  (tail != nullptr ? tail->next : head) = run;
  tail = run;
}

guest::BlockRun* RunList::Pop() {
  guest::BlockRun* const run = head;
  if (run == nullptr) return nullptr;
  head = run->next;
  if (head == nullptr) tail = nullptr;
  run->next = nullptr;
  return run;
}

void TaskQueue::PushBack(Task* task) {
  task->queue = this;
  task->next = nullptr;
  task->previous = tail;
  (tail != nullptr ? tail->next : head) = task;
  tail = task;
}

void TaskQueue::PushFront(Task* task) {
  task->queue = this;
  task->previous = nullptr;
  task->next = head;
  (head != nullptr ? head->previous : tail) = task;
  head = task;
}

void TaskQueue::Remove(Task* task) {
  task->queue = nullptr;
  (task->previous != nullptr ? task->previous->next : head) = task->next;
  (task->next != nullptr ? task->next->previous : tail) = task->previous;
  task->previous = task->next = nullptr;
}

// All seq_cst: the one who learns stores the time and looks for the code, the one who replaces does both the other way
// round, so one of them sees the other, and forgets.
void LearnTime(const Task& task, const guest::KernelDescriptor* code, uint64_t total_ns, uint64_t blocks) {
  const auto is_replaced = [code, newest = code != nullptr ? task.kernel.newest : nullptr] {
    return newest != nullptr && newest->load(std::memory_order_seq_cst) != code;
  };
  if (is_replaced()) return;
  task.habits->LearnTime(total_ns, blocks);
  if (is_replaced()) task.habits->ForgetTime();
}

}  // namespace tutti::device::cpu
