// A user object: a pointer that graphs keep alive, and its destructor, called when the last reference is gone.
#pragma once

#include <atomic>
#include <utility>
#include <vector>

#include "client/base/pool.h"
#include "cuda/types.h"

namespace tutti::client {

// Thread-safe.
class UserObject {
 public:
  UserObject(void* object, cuda::CUhostFn destroy, unsigned references)
      : object_(object), destroy_(destroy), references_(references) {}

  static UserObject* Find(const void* handle) { return pool_.Find(handle); }
  static UserObject* Create(void* object, cuda::CUhostFn destroy, unsigned references) {
    return pool_.Create(object, destroy, references);
  }
  cuda::CUuserObject handle() { return reinterpret_cast<cuda::CUuserObject>(this); }

  void Retain(unsigned count) { references_.fetch_add(count, std::memory_order_relaxed); }
  static void Release(UserObject* object, unsigned count) {
    if (object->references_.fetch_sub(count, std::memory_order_acq_rel) > count || !pool_.Retire(object)) return;
    object->destroy_(object->object_);
    pool_.Delete(object);
  }

 private:
  inline static constinit Pool<UserObject, 1 << 16> pool_;

  void* const object_;
  const cuda::CUhostFn destroy_;
  std::atomic<unsigned> references_;
};

// The references that one graph holds. A clone holds as many of its own.
class UserObjects {
 public:
  UserObjects() = default;
  UserObjects(const UserObjects& other) : held_(other.held_) {
    for (auto& [object, count] : held_) object->Retain(count);
  }
  UserObjects& operator=(UserObjects other) {
    held_.swap(other.held_);
    return *this;
  }
  ~UserObjects() {
    for (auto& [object, count] : held_) UserObject::Release(object, count);
  }

  // Takes over references that the caller has.
  void Take(UserObject* object, unsigned count) { held_.emplace_back(object, count); }
  // False if it holds fewer.
  bool Release(UserObject* object, unsigned count) {
    for (auto it = held_.begin(); it != held_.end(); ++it) {
      if (it->first != object || it->second < count) continue;
      if ((it->second -= count) == 0) held_.erase(it);
      UserObject::Release(object, count);
      return true;
    }
    return false;
  }

 private:
  std::vector<std::pair<UserObject*, unsigned>> held_;
};

}  // namespace tutti::client
