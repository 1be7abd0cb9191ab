// What the vendor's management library says, if it is there. It only reads.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tutti::gpu {

class Nvml {
 public:
  // Of the device at this PCI address ("0000:19:00.0"); by `library`, a path or a name.
  static std::optional<Nvml> Open(const std::string& pci, const std::string& library = "libnvidia-ml.so.1");

  // Processes with a context on the device. None: it could not be asked.
  std::optional<std::vector<unsigned>> Processes() const;
  std::optional<double> UsedMib() const;
  // Names and values, of what the library answers.
  std::vector<std::pair<std::string, std::string>> Facts() const;

 private:
  void* library_ = nullptr;
  void* device_ = nullptr;
};

}  // namespace tutti::gpu
