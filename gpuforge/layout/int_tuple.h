// Integers in a hierarchy: `7`, `(2,4)`, `((2,4),8)`, `()`. Shapes, strides, coordinates and profiles are
// such values. Coordinates to slice with may also hold `_`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "gpuforge/layout/inline_vector.h"
#include "gpuforge/layout/integer.h"

namespace gpuforge::layout {

// Elements in the order they are written; a tuple stands before its elements.
struct TupleNode {
  enum class Kind : std::uint8_t { integer, underscore, tuple };
  Integer value;           // a tuple's: its rank
  std::uint32_t span = 1;  // nodes of this element, itself included
  Kind kind = Kind::integer;

  friend bool operator==(const TupleNode&, const TupleNode&) = default;
};

// One element of a tuple, or all of it. Valid while its tuple is.
class TupleView {
 public:
  explicit TupleView(const TupleNode* node) : node_(node) {}

  bool is_tuple() const { return node_->kind == TupleNode::Kind::tuple; }
  bool is_integer() const { return node_->kind == TupleNode::Kind::integer; }
  bool is_underscore() const { return node_->kind == TupleNode::Kind::underscore; }
  Integer integer() const { return node_->value; }  // of an integer
  // Elements; an integer has one: itself.
  std::size_t rank() const { return is_tuple() ? static_cast<std::size_t>(node_->value.value()) : 1; }
  TupleView operator[](std::size_t index) const;

  class Iterator {
   public:
    explicit Iterator(const TupleNode* at) : at_(at) {}
    TupleView operator*() const { return TupleView(at_); }
    Iterator& operator++() {
      at_ += at_->span;
      return *this;
    }
    friend bool operator==(Iterator, Iterator) = default;

   private:
    const TupleNode* at_;
  };
  Iterator begin() const { return Iterator(is_tuple() ? node_ + 1 : node_); }
  Iterator end() const { return Iterator(node_ + node_->span); }

  const TupleNode* nodes() const { return node_; }
  std::size_t node_count() const { return node_->span; }
  friend bool operator==(TupleView a, TupleView b);

 private:
  const TupleNode* node_;
};

class IntTuple {
 public:
  IntTuple() : IntTuple(Integer(0)) {}
  IntTuple(Integer value) { nodes_.push_back({value, 1, TupleNode::Kind::integer}); }
  IntTuple(std::int64_t value) : IntTuple(Integer(value)) {}
  IntTuple(int value) : IntTuple(Integer(value)) {}
  IntTuple(TupleView view) { nodes_.append(view.nodes(), view.node_count()); }
  static IntTuple underscore();

  TupleView view() const { return TupleView(nodes_.begin()); }
  operator TupleView() const { return view(); }
  bool is_tuple() const { return view().is_tuple(); }
  bool is_integer() const { return view().is_integer(); }
  bool is_underscore() const { return view().is_underscore(); }
  Integer integer() const { return view().integer(); }
  std::size_t rank() const { return view().rank(); }
  TupleView operator[](std::size_t index) const { return view()[index]; }

  friend bool operator==(const IntTuple& a, const IntTuple& b) { return a.view() == b.view(); }

 private:
  friend class TupleBuilder;
  friend class LayoutBuilder;
  struct Empty {};
  explicit IntTuple(Empty) {}
  InlineVector<TupleNode, 16> nodes_;  // 8 integers in tuples of 2 in tuples of 2: 15 nodes
};

// A tuple of these elements, whatever their number: tuple({4}) is `(4)`.
IntTuple tuple(std::initializer_list<IntTuple> elements);

// Writes a tuple element by element. What lies between open and close becomes a tuple.
class TupleBuilder {
 public:
  TupleBuilder() : built_(IntTuple::Empty{}) {}
  void open() {
    count_element();
    open_.push_back(static_cast<std::uint32_t>(built_.nodes_.size()));
    built_.nodes_.push_back({0, 1, TupleNode::Kind::tuple});
  }
  void close() {
    const std::uint32_t at = open_.back();
    open_.erase(open_.size() - 1);
    built_.nodes_[at].span = static_cast<std::uint32_t>(built_.nodes_.size()) - at;
  }
  void add(Integer value) {
    count_element();
    built_.nodes_.push_back({value, 1, TupleNode::Kind::integer});
  }
  void add(TupleView element) {
    count_element();
    built_.nodes_.append(element.nodes(), element.node_count());
  }
  // One element must have been added, or one tuple opened and closed.
  IntTuple take();

 private:
  void count_element() {
    if (open_.empty()) return;
    TupleNode& around = built_.nodes_[open_.back()];
    around.value = around.value.value() + 1;
  }
  IntTuple built_;
  InlineVector<std::uint32_t, 8> open_;  // where the tuples stand that are not closed
};

// `((2,4),8)`, `(?,_)`; numbers without a sign of being known.
std::string to_text(TupleView tuple);
// A parse Error tells the column.
IntTuple parse_tuple(std::string_view text);

// The product of all; 1 for `()`.
Integer product(TupleView tuple);
// The product of each element: `((2,4),8)` is `(8,8)`; a tuple of one for an integer.
IntTuple product_each(TupleView tuple);
// 0 for an integer.
std::size_t depth(TupleView tuple);
bool has_underscore(TupleView tuple);
bool all_underscores(TupleView tuple);
// The same hierarchy.
bool congruent(TupleView a, TupleView b);
// The hierarchy of b refines that of a.
bool weakly_congruent(TupleView a, TupleView b);
// b refines a, and each part of b has the size of a's integer there: coordinates of a are coordinates of b.
// An Error where that depends on an unknown size.
bool compatible(TupleView a, TupleView b);
// Depth at most 1: `((2,4),8)` is `(2,4,8)`; an integer stays one.
IntTuple flatten(TupleView tuple);
// The elements of a flat tuple in the hierarchy of `profile`.
IntTuple unflatten(TupleView flat, TupleView profile);

}  // namespace gpuforge::layout
