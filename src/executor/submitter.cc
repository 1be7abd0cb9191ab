#include "executor/submitter.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "os/futex.h"
#include "os/socket.h"

namespace tutti::executor {
namespace {

using namespace cuda;

constexpr uint32_t kBurst = 32;  // records between two marks
constexpr uint64_t kSpinNs = 30'000;
constexpr uint64_t kLeastSleepNs = 50'000, kMostSleepNs = 500'000;  // while work runs
constexpr uint64_t kIdleSleepNs = 1'000'000'000;  // a backstop: the bell ends it

template <typename Body>
tutti::Result<Body> BodyOf(std::span<const uint8_t> rest) {
  Body body;
  if (rest.size() < sizeof body) return Fail(CUDA_ERROR_INVALID_VALUE, "a record that is too short");
  std::memcpy(&body, rest.data(), sizeof body);
  return body;
}

}  // namespace

Submitter::Submitter(const Vendor& vendor, Modules* modules, Exchange* exchange, int bell, Context* context,
                     TextCapture* texts, Fence* fence, const Arrays* arrays)
    : vendor_(vendor),
      modules_(modules),
      exchange_(exchange),
      bell_(bell),
      context_(context),
      texts_(texts),
      fence_(fence),
      arrays_(arrays),
      launches_(fence),
      clock_(vendor),
      host_copies_(vendor),
      reader_(exchange),
      streams_(kMostStreams) {}

bool Submitter::Step() {
  if (failed_ || withdrawn()) return false;
  if (context_ != nullptr && context_->lost()) {
    FailAll(context_->failure());
    return true;
  }
  uint32_t taken = 0;
  for (; taken < kBurst && hold_.load(std::memory_order_acquire) == Hold::kNone; ++taken) {
    const auto record = reader_.Next();
    if (!record) {
      FailAll(record.error());
      return true;
    }
    if (record->empty()) break;
    if (const Status executed = Execute(*record); !executed) {
      FailAll(executed.error());
      return true;
    }
  }
  if (taken != 0) {
    if (const Status marked = MarkBurst(); !marked) {
      FailAll(marked.error());
      return true;
    }
  }
  const auto harvested = Harvest();
  const auto asked = harvested ? LookForWithdrawal() : harvested;
  if (!asked) {
    FailAll(asked.error());
    return true;
  }
  if (*harvested || *asked) WakeServer();
  if (busy_.empty()) {  // who has asked has it now
    SayWhetherItRuns(false);
    Hold asked = Hold::kAsked;
    hold_.compare_exchange_strong(asked, Hold::kHeld, std::memory_order_acq_rel);
  }
  return taken != 0 || *harvested;
}

Status Submitter::Execute(std::span<const uint8_t> record) {
  DispatchHead head;
  std::memcpy(&head, record.data(), sizeof head);
  const std::span<const uint8_t> rest = record.subspan(sizeof head);
  if (head.stream >= streams_.size()) return Fail(CUDA_ERROR_INVALID_HANDLE, fmt::format("stream {}", head.stream));
  if (head.kind == DispatchKind::kOpenStream) {
    TUTTI_ASSIGN(const auto open, BodyOf<OpenStreamDispatch>(rest));
    return OpenStream(head.stream, open);
  }
  Stream& stream = streams_[head.stream];
  if (head.kind == DispatchKind::kPoint && stream.handle != nullptr) return PutMark(stream);
  if (stream.handle == nullptr || head.sequence != stream.issued + 1)
    return Fail(CUDA_ERROR_INVALID_HANDLE, fmt::format("record {} of stream {}", head.sequence, head.stream));
  SayWhetherItRuns(true);
  if (head.kind != DispatchKind::kTime) TUTTI_TRY(MarkWhatMayEnd(stream));  // that is a mark itself
  // First: where this process is killed in the call, the server must know that it may have begun. It reads that when
  // the process has ended.
  exchange_->streams[head.stream].issued.store(head.sequence, std::memory_order_release);
  Given given{.sequence = head.sequence, .launch = 0};
  switch (head.kind) {
    case DispatchKind::kLaunch: {
      TUTTI_ASSIGN(const auto launch, BodyOf<LaunchDispatch>(rest));
      const auto arguments = rest.subspan(sizeof launch);
      if (arguments.size() != launch.argument_bytes) return Fail(CUDA_ERROR_INVALID_VALUE, "arguments of another size");
      TUTTI_TRY(Launch(stream.handle, launch, arguments, &given.launch));
      break;
    }
    case DispatchKind::kCopy: {
      TUTTI_ASSIGN(const auto copy, BodyOf<CopyDispatch>(rest));
      TUTTI_TRY(Copy(stream.handle, copy));
      break;
    }
    case DispatchKind::kFill: {
      TUTTI_ASSIGN(const auto fill, BodyOf<FillDispatch>(rest));
      TUTTI_TRY(Fill(stream.handle, fill));
      break;
    }
    case DispatchKind::kWait: {
      TUTTI_ASSIGN(const auto wait, BodyOf<WaitDispatch>(rest));
      TUTTI_TRY(Wait(stream.handle, wait));
      break;
    }
    case DispatchKind::kTime: break;
    default: return tutti::Fail(CUDA_ERROR_INVALID_VALUE, "a record of unknown kind");
  }
  if (stream.issued == stream.marked && stream.marks.empty()) busy_.push_back(head.stream);
  stream.issued = head.sequence;
  if (head.kind == DispatchKind::kTime) return PutTime(stream);
  if (head.kind != DispatchKind::kWait) stream.given.push_back(given);
  return {};
}

Status Submitter::OpenStream(uint32_t number, const OpenStreamDispatch& open) {
  CUstream& handle = streams_[number].handle;
  if (handle != nullptr) return tutti::Fail(CUDA_ERROR_INVALID_HANDLE, fmt::format("stream {} twice", number));
  return vendor_.Check(vendor_.cuStreamCreateWithPriority(&handle, CU_STREAM_NON_BLOCKING, open.priority),
                       "cuStreamCreateWithPriority");
}

Status Submitter::Launch(CUstream stream, const LaunchDispatch& launch, std::span<const uint8_t> arguments,
                         uint64_t* number) {
  const uint32_t cluster_blocks = launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
  TUTTI_ASSIGN(const Modules::Found found,
               modules_->Find(launch.module, launch.kernel, launch.dynamic_shared_bytes, cluster_blocks));
  CUlaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (launch.cooperative != 0) {
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes[count++].value.number = 1;
  }
  if (cluster_blocks != 1) {
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[count++].value.clusterDim = {launch.cluster[0], launch.cluster[1], launch.cluster[2]};
  }
  const CUlaunchConfig config{.gridDimX = launch.grid[0],
                              .gridDimY = launch.grid[1],
                              .gridDimZ = launch.grid[2],
                              .blockDimX = launch.block[0],
                              .blockDimY = launch.block[1],
                              .blockDimZ = launch.block[2],
                              .sharedMemBytes = launch.dynamic_shared_bytes,
                              .hStream = stream,
                              .attrs = attributes,
                              .numAttrs = count};
  if (found.launch_offset) {
    *number = launches_.Begin();
    arguments_.assign(arguments.begin(), arguments.end());
    arguments_.resize(*found.launch_offset + sizeof *number);
    std::memcpy(arguments_.data() + *found.launch_offset, number, sizeof *number);
    arguments = arguments_;
  }
  size_t bytes = arguments.size();
  const auto word = [](uintptr_t value) { return reinterpret_cast<void*>(value); };
  void* extra[] = {word(CU_LAUNCH_PARAM_BUFFER_POINTER), const_cast<uint8_t*>(arguments.data()),
                   word(CU_LAUNCH_PARAM_BUFFER_SIZE), &bytes, word(CU_LAUNCH_PARAM_END)};
  return vendor_.Check(vendor_.cuLaunchKernelEx(&config, found.function, nullptr, bytes == 0 ? nullptr : extra),
                       "cuLaunchKernelEx");
}

// What a driver is to copy lies in memory that is there, or it may fail for all. The server, which has checked the
// sums, says what is the client's, not where memory is now.
Status Submitter::CheckReach(uint64_t address, uint64_t bytes, bool writes) const {
  if (fence_ == nullptr || fence_->Allows(address, bytes, writes)) return {};
  return tutti::Fail(CUDA_ERROR_ILLEGAL_ADDRESS, fmt::format("copy with illegal address {:#x}", address));
}

Status Submitter::Copy(CUstream stream, const CopyDispatch& copy) const {
  const bool to_array = arrays_ != nullptr && arrays_->Holds(copy.destination);
  const bool from_array = arrays_ != nullptr && arrays_->Holds(copy.source);
  if (!to_array)
    TUTTI_TRY(CheckReach(
        copy.destination,
        ReachOf(copy.row_bytes, copy.rows, copy.destination_pitch, copy.planes, copy.destination_plane), true));
  if (!from_array)
    TUTTI_TRY(CheckReach(copy.source,
                         ReachOf(copy.row_bytes, copy.rows, copy.source_pitch, copy.planes, copy.source_plane), false));
  if (to_array || from_array) return arrays_->Copy(stream, copy);
  if (host_copies_.Has(copy)) return host_copies_.Copy(stream, copy);
  for (uint64_t plane = 0; plane < copy.planes; ++plane) {
    const uint64_t to = copy.destination + plane * copy.destination_plane;
    const uint64_t from = copy.source + plane * copy.source_plane;
    if (copy.rows == 1) {
      TUTTI_TRY(vendor_.Check(vendor_.cuMemcpyAsync(to, from, copy.row_bytes, stream), "cuMemcpyAsync"));
      continue;
    }
    if (copy.destination_pitch < copy.row_bytes || copy.source_pitch < copy.row_bytes) {  // rows that overlap
      TUTTI_TRY(CopyRows(stream, to, from, copy));
      continue;
    }
    CUDA_MEMCPY2D rows{};
    rows.srcMemoryType = rows.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    rows.srcDevice = from;
    rows.dstDevice = to;
    rows.srcPitch = copy.source_pitch;
    rows.dstPitch = copy.destination_pitch;
    rows.WidthInBytes = copy.row_bytes;
    rows.Height = copy.rows;
    const CUresult status = vendor_.cuMemcpy2DAsync_v2(&rows, stream);
    // A driver may have a largest pitch (CU_DEVICE_ATTRIBUTE_MAX_PITCH), and may refuse those within the device that
    // are not cuMemAllocPitch's. Then it has begun nothing.
    if (status == CUDA_ERROR_INVALID_VALUE)
      TUTTI_TRY(CopyRows(stream, to, from, copy));
    else
      TUTTI_TRY(vendor_.Check(status, "cuMemcpy2DAsync"));
  }
  return {};
}

Status Submitter::CopyRows(CUstream stream, uint64_t to, uint64_t from, const CopyDispatch& copy) const {
  for (uint64_t row = 0; row < copy.rows; ++row) {
    TUTTI_TRY(vendor_.Check(vendor_.cuMemcpyAsync(to + row * copy.destination_pitch, from + row * copy.source_pitch,
                                                  copy.row_bytes, stream),
                            "cuMemcpyAsync"));
  }
  return {};
}

Status Submitter::Fill(CUstream stream, const FillDispatch& fill) const {
  const uint64_t row_bytes = fill.width * fill.element_bytes;
  TUTTI_TRY(CheckReach(fill.destination, ReachOf(row_bytes, fill.height, fill.pitch, 1, 0), true));
  if (fill.height == 1) return FillRows(stream, fill, row_bytes, fill.width, 1);
  if (fill.pitch >= row_bytes) return FillRows(stream, fill, fill.pitch, fill.width, fill.height);
  for (uint64_t row = 0; row < fill.height; ++row) {  // rows that overlap
    FillDispatch one = fill;
    one.destination += row * fill.pitch;
    TUTTI_TRY(FillRows(stream, one, row_bytes, fill.width, 1));
  }
  return {};
}

Status Submitter::FillRows(CUstream stream, const FillDispatch& fill, uint64_t pitch, uint64_t width,
                           uint64_t height) const {
  const uint64_t to = fill.destination;
  const auto low = static_cast<uint32_t>(fill.value), high = static_cast<uint32_t>(fill.value >> 32);
  switch (fill.element_bytes) {
    case 1:
      return vendor_.Check(vendor_.cuMemsetD2D8Async(to, pitch, static_cast<unsigned char>(low), width, height, stream),
                           "cuMemsetD2D8Async");
    case 2:
      return vendor_.Check(
          vendor_.cuMemsetD2D16Async(to, pitch, static_cast<unsigned short>(low), width, height, stream),
          "cuMemsetD2D16Async");
    case 4:
      return vendor_.Check(vendor_.cuMemsetD2D32Async(to, pitch, low, width, height, stream), "cuMemsetD2D32Async");
    case 8: break;
    default: return tutti::Fail(CUDA_ERROR_INVALID_VALUE, "a fill of elements of an odd size");
  }
  if (low == high)
    return vendor_.Check(vendor_.cuMemsetD2D32Async(to, pitch, low, 2 * width, height, stream), "cuMemsetD2D32Async");
  // Each element is a row of two halves, filled one after the other.
  for (uint64_t row = 0; row < height; ++row) {
    const uint64_t at = to + row * pitch;
    TUTTI_TRY(vendor_.Check(vendor_.cuMemsetD2D32Async(at, 8, low, 1, width, stream), "cuMemsetD2D32Async"));
    TUTTI_TRY(vendor_.Check(vendor_.cuMemsetD2D32Async(at + 4, 8, high, 1, width, stream), "cuMemsetD2D32Async"));
  }
  return {};
}

Status Submitter::Wait(CUstream stream, const WaitDispatch& wait) {
  if (wait.other_stream >= streams_.size() || wait.other_sequence > streams_[wait.other_stream].issued)
    return tutti::Fail(CUDA_ERROR_INVALID_HANDLE, fmt::format("a wait for stream {}", wait.other_stream));
  Stream& other = streams_[wait.other_stream];
  if (other.marked < wait.other_sequence) TUTTI_TRY(PutMark(other));
  const auto mark = std::ranges::lower_bound(other.marks, wait.other_sequence, {}, &Mark::sequence);
  if (mark == other.marks.end()) return {};  // it is done
  return vendor_.Check(vendor_.cuStreamWaitEvent(stream, mark->event, 0), "cuStreamWaitEvent");
}

tutti::Result<bool> Submitter::Harvest() {
  bool found = false;
  if (!busy_.empty()) {
    HandOnPrints();
    TUTTI_TRY(LookForFault());
  }
  for (const uint32_t number : busy_) {
    Stream& stream = streams_[number];
    while (!stream.marks.empty()) {
      const Mark mark = stream.marks.front();
      const CUresult status = vendor_.cuEventQuery(mark.event);
      if (status == CUDA_ERROR_NOT_READY || stop_.load(std::memory_order_seq_cst)) break;
      // What a kernel has recorded stands there when its mark does. One that has died with its context as it recorded
      // a fault records no more of it.
      TUTTI_TRY(LookForFault());
      if (status == CUDA_SUCCESS && fence_ != nullptr && fence_->IsFaulting()) break;
      HandOnTextsOf(mark.event);
      HandOnPrints();
      TUTTI_TRY(vendor_.Check(status, "a kernel, copy or fill of the program"));
      if (mark.recorded_ns != 0) TUTTI_TRY(TellTime(number, mark));
      exchange_->streams[number].done.store(mark.sequence, std::memory_order_seq_cst);
      while (!stream.given.empty() && stream.given.front().sequence <= mark.sequence) {
        launches_.End(stream.given.front().launch);
        stream.given.pop_front();
      }
      if (mark.recorded_ns == 0) events_.push_back(mark.event);
      stream.marks.pop_front();
      found = true;
    }
  }
  std::erase_if(busy_, [this](uint32_t number) {
    return streams_[number].marks.empty() && streams_[number].marked == streams_[number].issued;
  });
  return found;
}

// Its threads have ended, and the kernel's others go on: so it is looked for while kernels run, too.
Status Submitter::LookForFault() {
  const auto fault = fence_ == nullptr ? std::nullopt : fence_->Fault();
  if (!fault) return {};
  exchange_->fault = *fault;
  return tutti::Fail(static_cast<CUresult>(fault->kind), "a fault of a kernel");
}

Status Submitter::WhileNothingRuns(int server, const std::function<Status()>& change) {
  constexpr std::chrono::microseconds kLook{20}, kPause{1000};
  constexpr uint64_t kPatienceNs = 200'000'000;
  const auto ring = [this] {
    exchange_->bell.fetch_add(1, std::memory_order_seq_cst);
    os::FutexWake(&exchange_->bell);
  };
  hold_.store(Hold::kAsked, std::memory_order_seq_cst);
  ring();
  Status done;
  for (uint64_t asked_ns = NowNs(); hold_.load(std::memory_order_acquire) != Hold::kHeld && done;) {
    // What runs may wait for a record that is held up here.
    Hold asked = Hold::kAsked;
    if (NowNs() - asked_ns > kPatienceNs && hold_.compare_exchange_strong(asked, Hold::kNone)) {
      ring();
      std::this_thread::sleep_for(kPause);
      hold_.store(Hold::kAsked, std::memory_order_seq_cst);
      ring();
      asked_ns = NowNs();
    }
    if (failed_.load(std::memory_order_relaxed) || stop_.load(std::memory_order_relaxed) || os::HungUp(server))
      done = tutti::Fail(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the place ends");
    else
      std::this_thread::sleep_for(kLook);
  }
  if (done) done = change();
  hold_.store(Hold::kNone, std::memory_order_seq_cst);
  ring();
  return done;
}

// A driver prints what kernels have printed when its process waits for something: here, for what is over.
void Submitter::HandOnTextsOf(CUevent behind) {
  if (texts_ == nullptr || !modules_->prints()) return;
  vendor_.cuEventSynchronize(behind);
  HandOnTexts();
}

void Submitter::HandOnTexts() {
  texts_->HandOn(exchange_, [this] { return MaySay(); });
}

// To a server that has no room for more.
bool Submitter::MaySay() {
  WakeServer();
  return !stop_.load(std::memory_order_relaxed);
}

// What fenced kernels have printed, those that run as well: there is room for more. What there is now, not all that
// comes meanwhile.
void Submitter::HandOnPrints() {
  if (fence_ == nullptr) return;
  for (uint64_t taken = 0; taken < guest::kPrintRingBytes;) {
    const PrintFifo::Texts texts = fence_->TakePrints();
    if (texts.bytes == 0) return;
    taken += texts.bytes;
    PutText(texts.printed, &exchange_->printed, [this] { return MaySay(); });
    PutText(texts.failed, &exchange_->failed, [this] { return MaySay(); });
    WakeServer();
  }
}

void Submitter::FailAll(const Error& error) {
  if (context_ != nullptr) context_->NoteFailure(error);  // first: the others do not wait for this one's server
  if (texts_ != nullptr && (context_ == nullptr || context_->IsAlone(exchange_) || modules_->prints())) HandOnTexts();
  HandOnPrints();
  const size_t bytes = std::min<size_t>(error.text.size(), kFailureTextBytes - 1);
  std::memcpy(exchange_->failure_text, error.text.data(), bytes);
  exchange_->failure_text[bytes] = '\0';
  exchange_->context_lost.store(context_ != nullptr && context_->lost() ? 1 : 0, std::memory_order_relaxed);
  exchange_->failure.store(error.code != 0 ? error.code : CUDA_ERROR_UNKNOWN, std::memory_order_seq_cst);
  failed_ = true;  // last: who sees it and answers the server finds the failure told
  WakeServer();
}

void Submitter::SayWhetherItRuns(bool runs) {
  if (context_ == nullptr || runs == std::exchange(runs_, runs)) return;
  if (runs)
    context_->Begin();
  else
    context_->End();
}

void Submitter::WakeServer() const {
  if (exchange_->server_sleeps.exchange(0, std::memory_order_seq_cst) != 0) eventfd_write(bell_, 1);
}

void Submitter::Run() {
  uint64_t active_ns = NowNs();
  while (!failed_ && !withdrawn() && !stop_.load(std::memory_order_relaxed)) {
    if (Step()) {
      active_ns = NowNs();
      continue;
    }
    const uint64_t quiet_ns = NowNs() - active_ns;
    if (quiet_ns < kSpinNs) {
      CpuRelax();
    } else {
      Sleep(quiet_ns);
    }
  }
}

void Submitter::Stop() {
  stop_.store(true, std::memory_order_seq_cst);
  exchange_->bell.fetch_add(1, std::memory_order_seq_cst);
  os::FutexWake(&exchange_->bell);
}

// A stream that has failed is given back all the same.
Status Submitter::Close() {
  Status closed;
  const auto note = [&](const Status& status) {
    if (closed && !status) closed = status;
  };
  for (Stream& stream : streams_) {
    if (stream.handle == nullptr) continue;
    note(vendor_.Check(vendor_.cuStreamSynchronize(stream.handle), "cuStreamSynchronize"));
    note(vendor_.Check(vendor_.cuStreamDestroy_v2(stream.handle), "cuStreamDestroy"));
    for (const Mark& mark : stream.marks) events_.push_back(mark.event);  // those of the clock, too
    stream = {};
  }
  SayWhetherItRuns(false);
  if (texts_ != nullptr && modules_->prints()) HandOnTexts();  // which would be another one's
  for (const CUevent event : events_) note(vendor_.Check(vendor_.cuEventDestroy_v2(event), "cuEventDestroy"));
  events_.clear();
  note(clock_.Close());
  return closed;
}

// While something runs, a part of how long it has run already: what that adds to a kernel stays small.
void Submitter::Sleep(uint64_t quiet_ns) {
  constexpr uint64_t kPart = 16;
  const uint64_t limit_ns = busy_.empty() ? kIdleSleepNs : std::clamp(quiet_ns / kPart, kLeastSleepNs, kMostSleepNs);
  const uint32_t bell = exchange_->bell.load(std::memory_order_seq_cst);
  exchange_->executor_sleeps.store(1, std::memory_order_seq_cst);
  // What rang the bell before it was read here.
  const Hold hold = hold_.load(std::memory_order_seq_cst);
  const bool over = stop_.load(std::memory_order_seq_cst) || (context_ != nullptr && context_->lost()) ||
                    (hold == Hold::kAsked && busy_.empty()) ||
                    IsQuestion(exchange_->withdrawal.load(std::memory_order_seq_cst));
  if (!over && (hold != Hold::kNone || !reader_.HasNext())) os::FutexWait(&exchange_->bell, bell, limit_ns);
  exchange_->executor_sleeps.store(0, std::memory_order_seq_cst);
}

}  // namespace tutti::executor
