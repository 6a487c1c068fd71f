// Turns the body of one function into a Listing. Statements and control flow are in lister.cpp, operands in
// lister_operands.cpp. Not installed.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "gpuforge/sim/listing.h"
#include "gpuforge/sim/names.h"
#include "gpuforge/sim/row_finder.h"

namespace gpuforge::sim {

class Lister {
 public:
  Lister(ImageBuilder& builder, RowFinder& rows, const ptx::Function& function);
  Listing run();

 private:
  // Statements.
  void formals();
  void keep_results(Line& line);
  void block(const ptx::Block& block);
  void declare_ahead(const ptx::Block& block);
  void declare(const ptx::Variable& variable);
  void instruction(const ptx::Instruction& instruction);
  void stack_memory(const ptx::Instruction& instruction);
  void branch(const ptx::Instruction& instruction, Line line);
  void branch_table(const ptx::Instruction& instruction, Line line);
  void call(const ptx::Instruction& instruction, Line line);
  void plain(const ptx::Instruction& instruction, const FoundRow& found, Line line);
  void append(Line line);
  std::uint32_t add_site(const ptx::Instruction& instruction, const OpcodeRow& row);
  std::uint32_t new_label();
  void place_label(std::uint32_t label);
  std::vector<ListedPassed> passed(const ptx::Instruction& instruction, const ptx::List& list, bool results);

  // Operands.
  Value register_value(std::uint32_t number, std::uint8_t bits);
  Value new_register(std::uint8_t bytes);
  std::optional<Value> symbol_address(std::string_view name, std::int64_t offset, int bits,
                                      const ptx::Position& at);
  std::uint32_t local_copy(const Symbol& param, const ptx::Position& at);  // where it lies in local memory
  Value source(const ptx::Operand& operand, OperandType type, const Match& match, const ptx::Position& at);
  Value destination(std::string_view name, OperandType type, const Match& match, const ptx::Position& at);
  Value predicate(std::string_view name, const ptx::Position& at);  // to write; _ is a scratch mask
  Value named_source(std::string_view name, OperandType type, const Match& match, const ptx::Position& at);
  Value constant(const ptx::Constant& constant, OperandType type, const Match& match,
                 const ptx::Position& at);
  void vector(Line& line, const ptx::Operand& operand, OperandType type, const Match& match, bool written,
              bool splits, const ptx::Position& at);
  void address(Line& line, const ptx::Address& address, const ptx::Instruction& instruction);
  void check_elements(const ptx::Instruction& instruction, std::size_t count, std::size_t bytes) const;
  void add_slot(Line& line, const Value& value, bool written, const ptx::Position& at);
  void check_width(const Symbol& symbol, OperandType type, const Match& match, std::string_view name,
                   const ptx::Position& at) const;
  [[noreturn]] void refuse(const ptx::Position& at, std::string_view message) const;
  [[noreturn]] void unsupported(const ptx::Position& at, std::string_view message) const;
  [[noreturn]] void stop(ErrorCode code, const ptx::Position& at, std::string_view message) const;

  ImageBuilder& builder_;
  RowFinder& rows_;
  const ptx::Module& module_;
  bool lanes_part_;  // from sm_70 on nothing but .sync and .aligned keeps the lanes of a warp together
  Listing listing_;
  ptx::SourceLine source_;  // of the instruction at hand
  Names names_;
  std::unordered_map<std::uint32_t, std::uint32_t> dense_;  // declared register number -> listing register
  std::uint32_t declared_ = 0;
  std::uint32_t param_top_ = 0;
};

}  // namespace gpuforge::sim
