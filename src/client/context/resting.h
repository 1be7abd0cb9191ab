// A free list of places of streams and events, each reused only once the work that uses it is done.
//
// Mostly the first one given back is done first. But a stream may wait for as long as the program runs (for a value,
// say), so the oldest alone says nothing of the others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>

namespace tutti::client {

// `Place` has Reached(): whether its work is done. Not thread-safe.
template <typename Place>
class Resting {
 public:
  void GiveBack(const Place& place) { places_.push_back(place); }
  // One whose work is done. Looks at a few of them, or, if there are no other places, at `all`.
  std::optional<Place> Take(bool all) {
    constexpr size_t kFew = 8;
    const size_t most = all ? places_.size() : std::min(places_.size(), kFew);
    for (size_t looks = 0; looks < most; ++looks) {
      const Place place = places_.front();
      places_.pop_front();
      if (place.Reached()) return place;
      places_.push_back(place);
    }
    return std::nullopt;
  }
  void Clear() { places_.clear(); }

 private:
  std::deque<Place> places_;
};

}  // namespace tutti::client
