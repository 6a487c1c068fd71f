#include "gpuforge/layout/access_sentence.h"

#include <algorithm>
#include <set>

#include "gpuforge/base/format.h"

namespace gpuforge::layout {
namespace {

std::string counted(std::int64_t count, std::string_view what) {
  return format_text("{} {}{}", count, what, count == 1 ? "" : "s");
}

// "0 to 7", "0, 8, 16 and 24"; long lists end with how many more there are.
std::string listed(const std::vector<int>& threads) {
  const bool in_a_row = static_cast<std::size_t>(threads.back() - threads.front()) == threads.size() - 1;
  if (in_a_row && threads.size() > 2) return format_text("{} to {}", threads.front(), threads.back());
  constexpr std::size_t kMost = 8;
  const std::size_t shown = std::min(threads.size(), kMost);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == threads.size() ? " and " : ", ";
    text += std::to_string(threads[i]);
  }
  if (threads.size() > kMost) text += format_text(" and {} more", threads.size() - kMost);
  return text;
}

const SharedPhase& worst_phase(const SharedCost& cost) {
  return *std::max_element(cost.phases.begin(), cost.phases.end(),
                           [](const auto& a, const auto& b) { return a.wavefronts < b.wavefronts; });
}

bool threads_share(const WarpAccess& access) {
  std::set<std::int64_t> distinct;
  for (const ThreadAccess& one : access.threads) distinct.insert(one.index);
  return distinct.size() < access.threads.size();
}

std::string phases_text(const SharedCost& cost, std::int64_t bytes) {
  const int threads = cost.phases.front().threads;
  if (cost.phases.size() == 1) return counted(cost.ideal, "wavefront");
  return format_text(
      "{} wavefronts, one for each phase of {} threads{}", cost.ideal, threads,
      bytes * threads > kBanks * kBankBytes ? ", whose neighbours share addresses" : " (128 bytes)");
}

std::string shared_sentence(const WarpAccess& access) {
  const SharedCost& cost = *access.shared;
  const std::string sharing =
      threads_share(access) && access.request.is_load ? " Threads that read the same word share it." : "";
  if (cost.wavefronts == cost.ideal)
    return format_text("Conflict-free: {}. No bank is asked for two words at a time.{}",
                       phases_text(cost, access.request.type.bytes()), sharing);
  const SharedPhase& worst = worst_phase(cost);
  return format_text(
      "{}-way bank conflict: {} instead of {}. Threads {} want different words of bank {}{}.{}",
      worst.wavefronts, counted(cost.wavefronts, "wavefront"), cost.ideal, listed(access.in_conflict),
      access.conflict_bank, cost.phases.size() == 1 ? "" : " in the same phase", sharing);
}

// The step from thread to thread, if it is always the same.
std::optional<std::int64_t> even_step(const WarpAccess& access) {
  if (access.threads.size() < 2) return std::nullopt;
  const std::int64_t step = access.threads[1].index - access.threads[0].index;
  for (std::size_t i = 1; i < access.threads.size(); ++i)
    if (access.threads[i].index - access.threads[i - 1].index != step) return std::nullopt;
  return step * access.request.type.element_bytes;
}

std::string global_sentence(const WarpAccess& access) {
  const GlobalCost& cost = *access.global;
  const auto sectors = static_cast<std::int64_t>(cost.sectors.size());
  const std::int64_t moved = sectors * kSectorBytes;
  std::string text = format_text("{} of 32 bytes for {} asked for: ", counted(sectors, "sector"),
                                 counted(cost.bytes, "byte"));
  if (moved == cost.bytes) {
    text += "every byte that moves is used.";
  } else {
    const std::int64_t tenths = cost.bytes * 1000 / moved;  // of a per cent
    text += format_text("{}{}% of the {} bytes that move are used.", tenths / 10,
                        tenths % 10 != 0 ? format_text(".{}", tenths % 10) : "", moved);
    if (const auto step = even_step(access); step && std::abs(*step) > access.request.type.bytes())
      text += format_text(" Neighbouring threads are {} bytes apart.", std::abs(*step));
  }
  if (threads_share(access)) text += " Threads with the same address share it.";
  return text;
}

}  // namespace

void find_conflict(WarpAccess& access) {
  const SharedCost& cost = *access.shared;
  if (cost.wavefronts == cost.ideal) return;
  const SharedPhase& phase = worst_phase(cost);
  const auto bank = std::max_element(phase.words.begin(), phase.words.end());
  access.conflict_bank = bank - phase.words.begin();
  const std::int64_t bytes = access.request.type.bytes();
  std::set<std::int64_t> words;
  for (const ThreadAccess& one : access.threads) {
    if (one.thread < phase.first_thread || one.thread >= phase.first_thread + phase.threads) continue;
    const std::int64_t address = one.index * access.request.type.element_bytes;
    for (std::int64_t byte = 0; byte < bytes; byte += kBankBytes) {
      if (bank_of(address + byte) == access.conflict_bank && words.insert(word_of(address + byte)).second)
        access.in_conflict.push_back(one.thread);
    }
  }
}

std::string sentence_of(const WarpAccess& access) {
  return access.shared ? shared_sentence(access) : global_sentence(access);
}

}  // namespace gpuforge::layout
