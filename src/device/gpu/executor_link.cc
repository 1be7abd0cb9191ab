#include "device/gpu/executor_link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "cuda/result.h"
#include "device/gpu/lent_file.h"
#include "os/futex.h"
#include "os/socket.h"

namespace tutti::device::gpu {

using executor::Withdrawal;

namespace {

Result<os::Fd> Watch(int bell, int socket) {
  os::Fd wakes(epoll_create1(EPOLL_CLOEXEC));
  epoll_event rung{.events = EPOLLIN | EPOLLET, .data = {}};
  epoll_event ended{.events = 0, .data = {}};  // EPOLLHUP is always reported
  if (!wakes || epoll_ctl(wakes.get(), EPOLL_CTL_ADD, bell, &rung) != 0 ||
      epoll_ctl(wakes.get(), EPOLL_CTL_ADD, socket, &ended) != 0)
    return FailErrno("watching an executor", cuda::CUDA_ERROR_OPERATING_SYSTEM);
  return wakes;
}

bool TakeText(executor::TextRing* ring, uint64_t* taken, std::string* text) {
  const uint64_t produced = ring->produced.load(std::memory_order_acquire);
  const uint64_t bytes = produced - *taken;
  if (bytes > executor::kTextBytes) return false;
  for (uint64_t got = 0; got < bytes;) {
    const uint64_t place = (*taken + got) % executor::kTextBytes;
    const uint64_t part = std::min(bytes - got, executor::kTextBytes - place);
    text->append(reinterpret_cast<const char*>(ring->bytes) + place, part);
    got += part;
  }
  *taken = produced;
  if (bytes != 0) ring->consumed.store(produced, std::memory_order_release);
  return true;
}

}  // namespace

Result<std::unique_ptr<ExecutorLink>> ExecutorLink::Enter(std::shared_ptr<ExecutorProcess> executor, uint32_t flags) {
  TUTTI_ASSIGN(auto sockets, os::SocketPair());
  os::RefuseDescriptors(sockets.first.get());
  TUTTI_ASSIGN(const os::Fd file, os::CreateMemory("tutti-exchange", sizeof(executor::Exchange)));
  TUTTI_ASSIGN(os::Mapping mapping, os::Mapping::Shared(file.get(), sizeof(executor::Exchange)));
  os::Fd bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  TUTTI_ASSIGN(os::Fd wakes, Watch(bell.get(), sockets.first.get()));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return FailErrno("pipe", cuda::CUDA_ERROR_OPERATING_SYSTEM);
  os::Fd over(ends[0]);
  const os::Fd held(ends[1]);
  const int files[executor::kPlaceFiles] = {sockets.second.get(), file.get(), bell.get(), held.get()};
  TUTTI_TRY(executor->Enter(files, flags));
  return std::unique_ptr<ExecutorLink>(
      new ExecutorLink(std::move(executor), {.socket = os::StrangersFd(std::move(sockets.first)),
                                             .over = std::move(over),
                                             .bell = std::move(bell),
                                             .wakes = std::move(wakes),
                                             .exchange = std::move(mapping)}));
}

ExecutorLink::~ExecutorLink() {
  Kill();
  if (!in_the_way_ && socket_.IsDrained()) return;  // closing it waits for nobody
  if (let_go_) {
    let_go_(std::move(in_the_way_), socket_.Release());
  } else {
    os::AllowDescriptors(socket_.get());  // as it may hold some
    os::CloseAside(std::move(in_the_way_));
  }
}

void ExecutorLink::Hear() const {
  epoll_event events[2];
  (void)epoll_wait(wakes_.get(), events, 2, 0);
}

Result<ExecutorLink::Reply> ExecutorLink::Ask(const executor::Request& request, int file, int timeout_ms) {
  const auto lost = [this](const std::string& why) {
    if (!HasEnded()) has_lied_.store(true, std::memory_order_release);
    Kill();
    return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, "the program's executor " + why);
  };
  if ((request.flags & executor::kAsItIs) != 0 && !is_alone_)
    return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, "code that is not fenced, where others have places");
  std::lock_guard lock(asking_);
  if (ended_.load(std::memory_order_acquire)) return lost("has ended");
  const int fds[] = {file};
  if (executor::IsAnsweredWithFile(request.kind)) os::AllowDescriptors(socket_.get());
  unanswered_.store(true, std::memory_order_release);
  if (const auto sent = os::Send(socket_.get(), executor::Serialize(request), {fds, file >= 0 ? size_t{1} : size_t{0}});
      !sent) {
    unanswered_.store(false, std::memory_order_release);  // it has ended without it
    return lost("does not take requests: " + sent.error().text);
  }
  const Status comes = AwaitAnswer(timeout_ms);
  if (!comes && Failure() && FailsForAll()) {
    Kill();
    return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, "the program's executor has lost its context");
  }
  auto message = comes ? Receive(request.kind) : std::unexpected(comes.error());
  if (!message) return lost("does not answer: " + message.error().text);
  if (message->bytes.empty()) return lost("has ended");
  unanswered_.store(false, std::memory_order_release);
  auto answer = executor::ParseAnswer(message->bytes);
  if (!answer) {
    has_lied_.store(true, std::memory_order_release);
    return lost("answers what is none");
  }
  if (answer->status != 0) return Fail(answer->status, answer->text);
  return Reply{.answer = std::move(*answer), .file = std::move(message->file)};
}

// Or until there will be none: what is asked of a context that is lost has no answer, and nobody else may look whether
// it is, as where a client has no executor yet.
Status ExecutorLink::AwaitAnswer(int timeout_ms) const {
  constexpr int kLookMs = 20;
  for (int left_ms = timeout_ms;; left_ms -= timeout_ms < 0 ? 0 : kLookMs) {
    pollfd answer{socket_.get(), POLLIN, 0};
    const int ready = poll(&answer, 1, kLookMs);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return FailErrno("waiting for a message");
    if (Failure() && FailsForAll()) return Fail("its context is lost");
    if (timeout_ms >= 0 && left_ms <= kLookMs) return Fail("timed out waiting for a message");
  }
}

Result<ExecutorLink::Received> ExecutorLink::Receive(executor::RequestKind kind) {
  if (!executor::IsAnsweredWithFile(kind)) {
    TUTTI_ASSIGN(auto bytes, os::ReceiveBytes(socket_.get()));
    return Received{.bytes = std::move(bytes), .file = {}};
  }
  TUTTI_ASSIGN(os::PeekedMessage message, os::Peek(socket_.get(), executor::kMostAnswerBytes));
  if (message.out_of_fds) return Fail("the server has no file descriptor left for it (RLIMIT_NOFILE)");
  if (!message.complete || (message.fd && !IsAnswer(kind, message.fd.get()))) {
    has_lied_.store(true, std::memory_order_release);
    in_the_way_ = std::move(message.fd);
    return Fail("it sends what nobody has asked for");
  }
  if (!message.bytes.empty()) TUTTI_TRY(os::Discard(socket_.get()));
  os::RefuseDescriptors(socket_.get());
  return Received{.bytes = std::move(message.bytes), .file = os::StrangersFd(std::move(message.fd))};
}

void ExecutorLink::Kill() {
  std::lock_guard lock(ended_mutex_);
  if (ended_.exchange(true, std::memory_order_acq_rel)) return;
  executor_->Leave();
  socket_.ShutDown();  // nobody waits for the answers of one that does not die
}

bool ExecutorLink::HasEnded() const { return ended_.load(std::memory_order_acquire) || os::HungUp(socket_.get()); }

std::optional<uint64_t> ExecutorLink::Done(uint32_t stream, uint64_t given) {
  const uint64_t done = exchange()->streams[stream].done.load(std::memory_order_acquire);
  if (done < done_[stream] || done > given) return std::nullopt;
  return done_[stream] = done;
}

// The executor's clock follows ours with an error of its own.
uint64_t ExecutorLink::TimeOf(uint32_t stream, uint64_t sequence) const {
  constexpr uint64_t kMostErrorNs = 1'000'000'000;
  if (sequence > done_[stream]) return 0;
  const uint64_t at_ns = exchange()->times[stream][sequence % executor::kMostAhead].load(std::memory_order_relaxed);
  const bool can_be = at_ns + kMostErrorNs > entered_ns_ && at_ns < NowNs() + kMostErrorNs;
  return can_be ? at_ns : 0;
}

uint64_t ExecutorLink::MayHaveBegun(uint32_t stream, uint64_t done, uint64_t given) const {
  const uint64_t issued = exchange()->streams[stream].issued.load(std::memory_order_acquire);
  return issued < done || issued > given ? given : issued;
}

void ExecutorLink::AskToWithdraw(bool for_good) {
  asked_for_good_ = for_good;
  exchange()->withdrawal.store(for_good ? Withdrawal::kAsked : Withdrawal::kLook, std::memory_order_seq_cst);
  exchange()->bell.fetch_add(1, std::memory_order_seq_cst);
  os::FutexWake(&exchange()->bell);
}

std::optional<bool> ExecutorLink::HasNotBegun() {
  const Withdrawal answer = exchange()->withdrawal.load(std::memory_order_acquire);
  const Withdrawal hoped_for = asked_for_good_ ? Withdrawal::kDone : Withdrawal::kHasNotBegun;
  if (answer != hoped_for && answer != Withdrawal::kHasBegun) return std::nullopt;
  exchange()->withdrawal.store(Withdrawal::kNone, std::memory_order_relaxed);
  return answer == hoped_for;
}

bool ExecutorLink::TakeBackQuestion() {
  Withdrawal asked = asked_for_good_ ? Withdrawal::kAsked : Withdrawal::kLook;
  return exchange()->withdrawal.compare_exchange_strong(asked, Withdrawal::kNone, std::memory_order_acq_rel);
}

std::optional<ExecutorLink::Texts> ExecutorLink::TakeTexts() {
  Texts texts;
  const bool sound = TakeText(&exchange()->printed, &taken_printed_, &texts.printed) &&
                     TakeText(&exchange()->failed, &taken_failed_, &texts.failed);
  return sound ? std::optional(std::move(texts)) : std::nullopt;
}

std::optional<guest::FenceFault> ExecutorLink::FenceFault() const {
  const guest::FenceFault fault = exchange()->fault;
  return fault.state != 0 ? std::optional(fault) : std::nullopt;
}

std::optional<Error> ExecutorLink::Failure() const {
  const int32_t status = exchange()->failure.load(std::memory_order_acquire);
  if (status == 0) return std::nullopt;
  char text[executor::kFailureTextBytes];
  std::memcpy(text, exchange()->failure_text, sizeof text);
  text[sizeof text - 1] = '\0';
  constexpr int32_t kLast = 999;
  return Error{.code = status > 0 && status <= kLast ? status : cuda::CUDA_ERROR_UNKNOWN, .text = text};
}

}  // namespace tutti::device::gpu
