#include "libraries/fft/route.h"

#include <array>
#include <limits>

namespace tutti::fft {
namespace {

constexpr std::array kTargets{Place::kWork, Place::kOut, Place::kSecondWork};
constexpr unsigned kNever = std::numeric_limits<unsigned>::max() / 2;

// Memory decides first, then the cache: an array that was just read is in it.
constexpr unsigned kSecondWorkCost = 1000, kOtherArrayCost = 1;

class Router {
 public:
  Router(const Form& from, const std::vector<Operation>& operations, bool is_in_place)
      : from_(from), operations_(operations), is_in_place_(is_in_place) {}

  std::vector<Place> Find() {
    // best[t]: the least cost of all operations from `i` on, if operation i - 1 wrote target t.
    const size_t count = operations_.size();
    std::vector<std::array<unsigned, 3>> best(count + 1, {kNever, kNever, kNever});
    best[count] = {kNever, 0, kNever};
    for (size_t i = count; i-- > 1;) {
      for (size_t source = 0; source < 3; ++source) {
        for (size_t target = 0; target < 3; ++target) {
          best[i][source] = std::min(best[i][source], Cost(i, kTargets[source], target) + best[i + 1][target]);
        }
      }
    }
    std::vector<Place> route;
    Place at = Place::kIn;
    for (size_t i = 0; i < count; ++i) {
      size_t choice = 0;
      for (size_t target = 1; target < 3; ++target) {
        if (Cost(i, at, target) + best[i + 1][target] < Cost(i, at, choice) + best[i + 1][choice]) choice = target;
      }
      if (Cost(i, at, choice) + best[i + 1][choice] >= kNever) return {};
      at = kTargets[choice];
      route.push_back(at);
    }
    return route;
  }

 private:
  unsigned Cost(size_t i, Place source, size_t target) const {
    const Place to = kTargets[target];
    const bool is_last = i + 1 == operations_.size();
    if (is_last ? to != Place::kOut : to == Place::kOut && !operations_[i].to.fits_out) return kNever;
    const bool is_same = source == to || (is_in_place_ && source == Place::kIn && to == Place::kOut);
    const Form& before = i == 0 ? from_ : operations_[i - 1].to;
    if (is_same && (!operations_[i].works_in_place || before.PitchAt(source) != operations_[i].to.PitchAt(to)))
      return kNever;
    return (to == Place::kSecondWork ? kSecondWorkCost : 0) + (is_same ? 0 : kOtherArrayCost);
  }

  const Form& from_;
  const std::vector<Operation>& operations_;
  const bool is_in_place_;
};

}  // namespace

uint64_t Form::PitchAt(Place place) const {
  switch (place) {
    case Place::kIn: return in_pitch;
    case Place::kOut: return out_pitch;
    default: return work_pitch;
  }
}

std::vector<Place> FindRoute(const Form& from, const std::vector<Operation>& operations, bool is_in_place) {
  return Router(from, operations, is_in_place).Find();
}

}  // namespace tutti::fft
