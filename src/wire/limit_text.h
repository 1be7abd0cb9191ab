// Parses and formats the values of settings as control commands, environment variables and clients write them. Daemon
// and client share these rules, so either can report what is wrong with a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tutti::wire {

inline constexpr uint64_t kNoMemoryLimit = ~0ull;

// Active thread percentage: a decimal number above 0, at most 100.
Result<double> ParsePercentage(std::string_view text);
std::string FormatPercentage(double percentage);  // "12.5": one decimal

// "2G", "512M", "512MB": a positive integer and a unit (powers of 1024). Fails on anything else and on overflow.
Result<uint64_t> ParseMemory(std::string_view text);
std::string FormatMemory(uint64_t bytes);  // as ParseMemory reads it: in G if that is exact, else in M

// Client priority: 0 normal, 1 below normal.
Result<int> ParsePriority(std::string_view text);

// With whom the clients of a namespace may share memory and events: "off", "user" (others of their user, and, where
// containers are told apart, of their container) or "all". Both sides' namespaces must allow it.
enum class MemorySharing : uint32_t { kOff = 0, kSameUser = 1, kAll = 2 };
Result<MemorySharing> ParseMemorySharing(std::string_view text);
std::string_view MemorySharingName(MemorySharing sharing);

// Memory limits by device identifier, in the order they were set. An identifier is an ordinal or a UUID (or the start
// of one); both may name the same device, then the one set last holds. A query by identifier finds only what was set
// under that identifier.
class MemoryLimits {
 public:
  struct Entry {
    std::string device;
    uint64_t bytes;
  };

  void Set(std::string_view device, uint64_t bytes);
  std::optional<uint64_t> Get(std::string_view device) const;

  // The limit of the device with this ordinal and UUID text; kNoMemoryLimit if none was set.
  uint64_t Of(uint32_t ordinal, std::string_view uuid) const;
  bool empty() const { return entries_.empty(); }
  const std::vector<Entry>& entries() const { return entries_; }
  // The identifiers that match none of these devices (UUID texts, indexed by ordinal).
  std::vector<std::string> Unknown(const std::vector<std::string>& uuids) const;

  // The form of CUDA_MPS_PINNED_DEVICE_MEM_LIMIT: "0=1G,1=512MB,GPU-1234abcd=900M". Empty text: no limits.
  static Result<MemoryLimits> Parse(std::string_view text);

 private:
  std::vector<Entry> entries_;
};

// An ordinal ("0") or the start of a UUID ("GPU-1234"); false for anything else.
bool IsDeviceIdentifier(std::string_view text);

}  // namespace tutti::wire
