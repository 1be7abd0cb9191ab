// N2: models in one process, by PyTorch where it is installed.
#include <string>

#include "frame/peer.h"
#include "frame/record.h"
#include "native/native.h"
#include "sharing/work.h"

namespace tutti::gpu {
namespace {

void Models(std::string_view) {
  std::vector<Peer> workers;
  workers.push_back(StartModelWorker());
  workers[0].Expect("ready", 60);
  for (const Work& work : ModelWork()) Together(workers, 1, work, 3, "alone");
}

std::string Decide(const Evidence& evidence) {
  std::string text;
  for (const Row* row : evidence.Of("N2")) {
    if (const auto rate = row->Number("a second, together"))
      text += (text.empty() ? "" : ", ") + row->Text("work") + ": " + Show(*rate) + "/s";
  }
  return text.empty() ? evidence.Undecided("N2") : "none; to stay behind by at most 2%: " + text;
}

constexpr Step kSteps[] = {{"alone", Models, 70}};

}  // namespace

const Probe kN2{"N2", "How many inferences a second does one process make?", kSteps, {}, Decide};

}  // namespace tutti::gpu
