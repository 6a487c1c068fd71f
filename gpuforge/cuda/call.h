// One function of a library opened at run time: its name, its address once found, and the checked call.
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuforge::cuda {

class CallBase;

// Owns the list of its members that are Calls, so that one line declares and loads a function.
class CallTable {
 public:
  CallTable() = default;
  CallTable(const CallTable&) = delete;
  CallTable& operator=(const CallTable&) = delete;
  virtual ~CallTable() = default;

  std::span<const CallBase* const> calls() const { return calls_; }

 protected:
  // Gives every function the address `lookup(symbol)` finds; those it does not find stay missing.
  template <std::invocable<const char*> Lookup>
  void bind_calls(const Lookup& lookup);
  // Raises the Error for a failed result: names the call, CUDA's name and text of the code, and the object.
  [[noreturn]] virtual void fail(const CallBase& call, int result, std::string object) const = 0;
  // Raises the Error for a function this library does not have.
  [[noreturn]] virtual void fail_missing(const CallBase& call) const = 0;

 private:
  friend class CallBase;
  template <typename Signature>
  friend class Call;
  std::vector<CallBase*> calls_;
};

class CallBase {
 public:
  CallBase(CallTable& table, const char* symbol) : table_(table), symbol_(symbol) {
    table.calls_.push_back(this);
  }
  CallBase(const CallBase&) = delete;
  CallBase& operator=(const CallBase&) = delete;

  const char* symbol() const { return symbol_; }
  bool available() const { return address_ != nullptr; }

 protected:
  friend class CallTable;
  CallTable& table_;
  const char* symbol_;
  void* address_ = nullptr;
};

template <std::invocable<const char*> Lookup>
void CallTable::bind_calls(const Lookup& lookup) {
  for (CallBase* call : calls_) call->address_ = lookup(call->symbol_);
}

template <typename Signature>
class Call;

template <typename Result, typename... Parameters>
class Call<Result(Parameters...)> : public CallBase {
 public:
  using Pointer = Result (*)(Parameters...);
  using CallBase::CallBase;

  // Unchecked: for destructors, queries whose "not ready" is an answer, and probes. Missing is an Error.
  Result raw(Parameters... arguments) const {
    if (address_ == nullptr) [[unlikely]]
      table_.fail_missing(*this);
    return reinterpret_cast<Pointer>(address_)(arguments...);
  }

  // Checked. `object` says what the call is about ("stream of cuda:0"): a text, or a callable that makes one
  // only when it is needed.
  template <typename Object>
  void operator()(const Object& object, Parameters... arguments) const {
    const Result result = raw(arguments...);
    if (static_cast<int>(result) != 0) [[unlikely]] {
      if constexpr (std::invocable<const Object&>) {
        table_.fail(*this, static_cast<int>(result), std::string(object()));
      } else {
        table_.fail(*this, static_cast<int>(result), std::string(object));
      }
    }
  }
};

}  // namespace gpuforge::cuda
