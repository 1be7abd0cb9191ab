// Tutti itself on the driver that is measured, for the steps that ask what programs get under it: a control daemon of
// the step's alone, whose servers use the GPU.
#pragma once

#include <string>

#include "frame/peer.h"

namespace tutti::gpu {

class TuttiService {
 public:
  // What executors go without, as TUTTI_EXECUTORS_UNCONFINED says; what was found to be needed, if it was asked (T6).
  static std::string Unconfined();
  static void SetUnconfined(const std::string& parts);
  static bool is_unconfined_known();

  // The daemon runs from here on, with directories of its own below the scratch directory. `isolation`: what
  // TUTTI_ISOLATION says; `trust`: that contexts are shared unfenced. Ends this process if Tutti is not here, or what
  // fences, or if the daemon does not start.
  TuttiService(const std::string& isolation, bool trust, const std::string& unconfined = Unconfined());
  ~TuttiService();
  TuttiService(const TuttiService&) = delete;

  // Of a program that is to be its client.
  Peer::Environment Client() const;

 private:
  std::string programs_, library_, pipes_, logs_;
  Peer::Environment daemon_;
};

}  // namespace tutti::gpu
