// Episodes of a channel that come again and again, as the same launches do layer by layer: what
// followed from a scene is what follows from a like one. Remembering changes no result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hardware/memory/dram/burst_channel.hpp"
#include "hardware/memory/dram/scene.hpp"

namespace qfs::dram {

/// How a long transaction begins on a channel without requests, without refresh, until it is as
/// good as settled.
struct Beginning {
  Tick ticks = 0;
  std::uint64_t bursts = 0;       // served
  std::vector<Scene::Name> rows;  // that are open then, by bank
  Counters counters;
};

/// How all transactions end from some instant on, without refresh.
struct Ending {
  Tick from = 0;
  std::vector<Tick> ends;  // of the scene's transactions
  BurstChannel::Aftermath aftermath;
  std::vector<Scene::Name> rows;
  Counters counters;
  std::size_t last_stream = 0;
};

/// A bounded memory of pure functions of a scene.
template <class Episode>
class Remembered {
 public:
  [[nodiscard]] std::shared_ptr<const Episode> of(const Scene::Notes& notes) const {
    const auto found = episodes_.find(notes);
    return found == episodes_.end() ? nullptr : found->second;
  }
  void add(Scene::Notes notes, std::shared_ptr<const Episode> episode) {
    constexpr std::size_t most = 2048;  // some 10 kB each
    if (episodes_.size() == most) {
      episodes_.clear();
    }
    episodes_.emplace(std::move(notes), std::move(episode));
  }
  [[nodiscard]] std::size_t size() const { return episodes_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const Scene::Notes& notes) const {
      std::uint64_t hash = notes.size();
      for (const std::uint64_t note : notes) {
        hash = (hash ^ note) * 0x9E3779B97F4A7C15U;
        hash ^= hash >> 32U;
      }
      return hash;
    }
  };
  std::unordered_map<Scene::Notes, std::shared_ptr<const Episode>, Hash> episodes_;
};

struct Episodes {
  Remembered<Beginning> beginnings;
  Remembered<Ending> endings;
};

}  // namespace qfs::dram
