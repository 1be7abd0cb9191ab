// Gives the ring's records to the vendor's driver, in their order, and writes the ledger: what it has given, and, by
// events that it records behind each burst, what is done.
//
// The first record that fails, or the first failure of the context, ends it all: it is written as the failure, and
// nothing more is given to the driver. Other places of the executor go on, unless the context is lost with it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "base/error.h"
#include "executor/arrays.h"
#include "executor/context.h"
#include "executor/event_clock.h"
#include "executor/fence.h"
#include "executor/host_copies.h"
#include "executor/launches.h"
#include "executor/modules.h"
#include "executor/protocol/dispatch_queue.h"
#include "executor/text_capture.h"
#include "executor/vendor.h"

namespace tutti::executor {

// Of one thread, in which the context is current, but for Stop and WhileNothingRuns.
class Submitter {
 public:
  // `bell`: the server's eventfd. `context`: null: there is one place only. `texts`: null: what kernels print stays
  // where it is. `fence`: null, or not open: kernels are not fenced.
  Submitter(const Vendor& vendor, Modules* modules, Exchange* exchange, int bell, Context* context = nullptr,
            TextCapture* texts = nullptr, Fence* fence = nullptr, const Arrays* arrays = nullptr);

  // The window's host part lies there, in this process and on the device. On any thread.
  void OpenHost(uint64_t base, uint64_t bytes) { host_copies_.Open(base, bytes); }

  // Takes a burst of records, and looks what is done. True if something was, either way.
  bool Step();
  // Steps, and sleeps where there is nothing to do, until a failure, or until it is stopped.
  void Run();
  // The server has gone: Run returns soon, unless it waits in the driver. On any thread.
  void Stop();
  // Takes no more records until what the driver has been given is done, and `change` too. Called on another thread
  // while this runs. Fails if it is stopped or fails meanwhile, or `server`, a socket, hangs up.
  Status WhileNothingRuns(int server, const std::function<Status()>& change);
  // Waits for all that the driver has been given, and gives the streams back. After Run.
  Status Close();

  bool failed() const { return failed_; }
  // What the driver has is without effect, and nothing more is given to it. On any thread.
  bool withdrawn() const { return withdrawn_.load(std::memory_order_acquire); }

 private:
  struct Mark {
    uint64_t sequence;
    cuda::CUevent event;
    uint64_t recorded_ns = 0;  // 0: without a time
  };
  // What may have effects, if it is not known to be done.
  struct Given {
    uint64_t sequence;
    uint64_t launch;  // its number; 0: it cannot be withdrawn
  };
  struct Stream {
    cuda::CUstream handle = nullptr;
    uint64_t issued = 0;
    uint64_t marked = 0;
    std::deque<Mark> marks;
    std::deque<Given> given;
  };

  Status Execute(std::span<const uint8_t> record);
  Status OpenStream(uint32_t number, const OpenStreamDispatch& open);
  Status Launch(cuda::CUstream stream, const LaunchDispatch& launch, std::span<const uint8_t> arguments,
                uint64_t* number);
  Status Copy(cuda::CUstream stream, const CopyDispatch& copy) const;
  Status CopyRows(cuda::CUstream stream, uint64_t to, uint64_t from, const CopyDispatch& copy) const;
  Status Fill(cuda::CUstream stream, const FillDispatch& fill) const;
  Status FillRows(cuda::CUstream stream, const FillDispatch& fill, uint64_t pitch, uint64_t width,
                  uint64_t height) const;
  Status Wait(cuda::CUstream stream, const WaitDispatch& wait);
  Status MarkWhatMayEnd(Stream& stream);
  Status MarkBurst();
  Status PutMark(Stream& stream);
  Status PutTime(Stream& stream);
  Status TellTime(uint32_t stream, const Mark& mark);
  Result<bool> Harvest();
  Status LookForFault();
  // Answers the server. True if it has asked.
  Result<bool> LookForWithdrawal();
  Result<Withdrawal> Withdraw(Withdrawal asked);
  Status CheckReach(uint64_t address, uint64_t bytes, bool writes) const;
  Result<cuda::CUevent> TakeEvent();
  void SayWhetherItRuns(bool runs);
  void HandOnTextsOf(cuda::CUevent behind);
  void FailAll(const Error& error);
  void HandOnTexts();
  bool MaySay();
  void HandOnPrints();
  void WakeServer() const;
  void Sleep(uint64_t quiet_ns);

  const Vendor& vendor_;
  Modules* const modules_;
  Exchange* const exchange_;
  const int bell_;
  Context* const context_;
  TextCapture* const texts_;
  Fence* const fence_;
  const Arrays* const arrays_;  // null: there are none
  Launches launches_;
  EventClock clock_;
  HostCopies host_copies_;
  DispatchReader reader_;
  std::vector<Stream> streams_;
  std::vector<uint32_t> busy_;  // streams with something that is not done
  std::vector<cuda::CUevent> events_;  // free ones
  std::vector<uint8_t> arguments_;  // of a launch, with its number
  bool runs_ = false;  // Context::Begin
  std::atomic<bool> failed_{false}, withdrawn_{false};
  std::atomic<bool> stop_{false};
  enum class Hold : uint32_t { kNone, kAsked, kHeld };  // held: nothing is given to the driver, and it has nothing
  std::atomic<Hold> hold_{Hold::kNone};
};

}  // namespace tutti::executor
