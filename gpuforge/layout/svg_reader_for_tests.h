// Reads the pictures back: is the XML well-formed, which texts stand where, which cells are there.
#pragma once

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/layout/svg.h"

namespace gpuforge::layout {

struct SvgElement {
  std::string name;
  std::map<std::string, std::string> attributes;  // those of its groups as well
  std::string text;
  double number(const std::string& key) const { return std::stod(attributes.at(key)); }
};

// Only what the writer makes: elements, quoted attributes, text. Anything else is an exception.
class SvgReader {
 public:
  explicit SvgReader(std::string_view svg) : rest_(svg) {
    while (!rest_.empty()) step();
    if (!open_.empty()) fail("an element is not closed");
  }

  std::vector<SvgElement> all(std::string_view name, std::string_view group = {}) const {
    std::vector<SvgElement> found;
    for (const SvgElement& element : elements_) {
      const auto in = element.attributes.find("groups");
      if (element.name == name &&
          (group.empty() || (in != element.attributes.end() && in->second.find(group) != std::string::npos)))
        found.push_back(element);
    }
    return found;
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> found;
    for (const SvgElement& element : all("text")) found.push_back(element.text);
    return found;
  }
  std::size_t cells() const { return all("rect", "cells").size(); }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error(why + " before: " + std::string(rest_.substr(0, 60)));
  }

  void step() {
    const std::size_t next = rest_.find('<');
    const std::string_view text = rest_.substr(0, std::min(next, rest_.size()));
    if (!open_.empty()) elements_[open_.back()].text += unescaped(text);
    if (next == std::string_view::npos) return rest_.remove_prefix(rest_.size());
    rest_.remove_prefix(next + 1);
    const std::size_t end = rest_.find('>');
    if (end == std::string_view::npos) fail("a tag does not end");
    std::string_view tag = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    if (tag.starts_with('/')) {
      if (open_.empty() || elements_[open_.back()].name != tag.substr(1)) fail("a tag closes nothing");
      return open_.pop_back();
    }
    const bool closed = tag.ends_with('/');
    if (closed) tag.remove_suffix(1);
    open(tag);
    if (closed) open_.pop_back();
  }

  void open(std::string_view tag) {
    SvgElement element;
    if (!open_.empty() && elements_[open_.back()].name == "g")
      element.attributes = elements_[open_.back()].attributes;
    const std::size_t space = std::min(tag.find(' '), tag.size());
    element.name = tag.substr(0, space);
    tag.remove_prefix(space);
    while (tag.find('=') != std::string_view::npos) {
      const std::size_t equals = tag.find("=\"");
      const std::size_t quote = tag.find('"', equals + 2);
      if (!tag.starts_with(' ') || equals == std::string_view::npos || quote == std::string_view::npos)
        fail("an attribute is not name=\"value\"");
      const std::string key(tag.substr(1, equals - 1));
      const std::string value = unescaped(tag.substr(equals + 2, quote - equals - 2));
      if (key == "class") element.attributes["groups"] += " " + value;
      element.attributes[key] = value;
      tag.remove_prefix(quote + 1);
    }
    if (!tag.empty()) fail("a tag has more than attributes");
    elements_.push_back(std::move(element));
    open_.push_back(elements_.size() - 1);
  }

  std::string unescaped(std::string_view text) const {
    std::string result;
    while (!text.empty()) {
      if (text.front() == '&') {
        const std::size_t end = text.find(';');
        const std::string_view name = text.substr(1, end == std::string_view::npos ? end : end - 1);
        const std::map<std::string_view, char> known = {
            {"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}};
        if (!known.contains(name)) fail("a bare &");
        result += known.at(name);
        text.remove_prefix(end + 1);
      } else {
        result += text.front();
        text.remove_prefix(1);
      }
    }
    return result;
  }

  std::string_view rest_;
  std::vector<SvgElement> elements_;
  std::vector<std::size_t> open_;
};

// The room a text takes.
struct TextBox {
  double left, right, top, bottom;
  std::string text;
  bool touches(const TextBox& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};
inline TextBox text_box(const SvgElement& element) {
  const double size = element.number("font-size"), x = element.number("x"), y = element.number("y");
  const double width = text_width(element.text, size);
  const std::string& anchor = element.attributes.at("text-anchor");
  const double left = anchor == "middle" ? x - width / 2 : anchor == "end" ? x - width : x;
  return {left, left + width, y - size * 0.74, y + size * 0.02, element.text};
}

}  // namespace gpuforge::layout
