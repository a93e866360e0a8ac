// Views of arrays that a kernel reads and writes through load and store, so that the same code runs
// with every access counted or with none. Traffic is read off the accesses made, not derived from
// what the kernel was meant to do (003 sections 2, 5 and 6 count elements in the same way).
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace qfs {

/// Elements loaded from and stored to one array.
struct AccessCount {
  std::uint64_t loads = 0;
  std::uint64_t stores = 0;

  constexpr bool operator==(const AccessCount&) const = default;
  constexpr AccessCount& operator+=(const AccessCount& other) {
    loads += other.loads;
    stores += other.stores;
    return *this;
  }
};

/// A span whose every element access adds one to a counter that outlives it. Needs index < size().
template <class T>
class CountedArray {
 public:
  using Value = std::remove_const_t<T>;

  CountedArray(std::span<T> values, AccessCount& count) : values_(values), count_(&count) {}

  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] Value load(std::size_t index) const {
    assert(index < values_.size());
    ++count_->loads;
    return values_[index];
  }
  void store(std::size_t index, Value value) const requires(!std::is_const_v<T>) {
    assert(index < values_.size());
    ++count_->stores;
    values_[index] = value;
  }

 private:
  std::span<T> values_;
  AccessCount* count_;
};

/// The same interface at no cost.
template <class T>
class PlainArray {
 public:
  using Value = std::remove_const_t<T>;

  explicit PlainArray(std::span<T> values) : values_(values) {}

  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] Value load(std::size_t index) const {
    assert(index < values_.size());
    return values_[index];
  }
  void store(std::size_t index, Value value) const requires(!std::is_const_v<T>) {
    assert(index < values_.size());
    values_[index] = value;
  }

 private:
  std::span<T> values_;
};

/// The two ways in which a kernel, a template over its Access, may see its arrays: each through the
/// counter that (*counts)[name] refers to, or directly.
template <class Counters>
struct Counting {
  Counters* counts;
  template <class Name, class T>
  CountedArray<T> bind(Name name, std::span<T> values) const {
    return {values, (*counts)[name]};
  }
};
struct NotCounting {
  template <class Name, class T>
  PlainArray<T> bind(Name /*name*/, std::span<T> values) const {
    return PlainArray<T>(values);
  }
};

}  // namespace qfs
