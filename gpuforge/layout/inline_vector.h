// A vector of plain values that needs no memory of its own while it is short, as layouts nearly always are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>

namespace gpuforge::layout {

template <class T, std::size_t kInline>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  InlineVector() = default;
  InlineVector(const InlineVector& other) { append(other.begin(), other.size()); }
  InlineVector(InlineVector&& other) noexcept : size_(other.size_), capacity_(other.capacity_) {
    if (other.heap_ != nullptr) {
      heap_ = std::move(other.heap_);
    } else {
      std::memcpy(inline_, other.inline_, size_ * sizeof(T));
    }
    other.size_ = 0;
    other.capacity_ = kInline;
  }
  InlineVector& operator=(InlineVector other) noexcept {
    size_ = other.size_;
    capacity_ = other.capacity_;
    heap_ = std::move(other.heap_);
    if (heap_ == nullptr) std::memcpy(inline_, other.inline_, size_ * sizeof(T));
    return *this;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return heap_ != nullptr ? heap_.get() : reinterpret_cast<T*>(inline_); }
  T* end() { return begin() + size_; }
  const T* begin() const { return heap_ != nullptr ? heap_.get() : reinterpret_cast<const T*>(inline_); }
  const T* end() const { return begin() + size_; }
  T& operator[](std::size_t index) { return begin()[index]; }
  const T& operator[](std::size_t index) const { return begin()[index]; }
  T& back() { return begin()[size_ - 1]; }
  operator std::span<const T>() const { return {begin(), size_}; }

  void push_back(const T& value) {
    const T copy = value;  // it may stand in here
    reserve(size_ + 1);
    begin()[size_++] = copy;
  }
  // `values` lie outside.
  void append(const T* values, std::size_t count) {
    reserve(size_ + count);
    std::memcpy(begin() + size_, values, count * sizeof(T));
    size_ += count;
  }
  void erase(std::size_t index) {
    std::memmove(begin() + index, begin() + index + 1, (size_ - index - 1) * sizeof(T));
    --size_;
  }
  void clear() { size_ = 0; }

 private:
  void reserve(std::size_t count) {
    if (count <= capacity_) [[likely]]
      return;
    const std::size_t grown = std::max(count, 2 * capacity_);
    auto bigger = std::make_unique_for_overwrite<T[]>(grown);
    std::memcpy(bigger.get(), begin(), size_ * sizeof(T));
    heap_ = std::move(bigger);
    capacity_ = grown;
  }

  std::size_t size_ = 0;
  std::size_t capacity_ = kInline;
  std::unique_ptr<T[]> heap_;
  alignas(T) std::byte inline_[kInline * sizeof(T)];  // raw: most of it is never used
};

}  // namespace gpuforge::layout
