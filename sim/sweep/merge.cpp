#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "base/error.hpp"
#include "sim/sweep/point_keys.hpp"
#include "sim/sweep/sweep.hpp"
#include "sim/sweep/sweep_points.hpp"

namespace qfs {
namespace {

namespace fs = std::filesystem;

/// Into how many shards the stores in the folder divide the sweep.
std::uint64_t shards_in(const fs::path& folder) {
  std::uint64_t count = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    unsigned long long number = 0;
    unsigned long long of = 0;
    const std::string name = entry.path().filename().string();
    if (std::sscanf(name.c_str(), "shard-%llu-of-%llu.sqlite", &number, &of) != 2 ||
        entry.path() != shard_store(folder, {number, of})) {
      continue;
    }
    if (count != 0 && count != of) {
      throw ConfigError(fmt::format(
          "{} holds shards of {} and of {}; remove those that do not belong", folder.string(),
          std::min<std::uint64_t>(count, of), std::max<std::uint64_t>(count, of)));
    }
    count = of;
  }
  if (count == 0) {
    throw ConfigError(
        fmt::format("{} holds no shards; qfsim sweep --shard i/n makes one", folder.string()));
  }
  return count;
}

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
  throw ConfigError(fmt::format("{} {}", file.string(), why));
}

/// A complete shard of this sweep, by this program.
std::unique_ptr<ResultStore> open_shard(const SweepConfig& config, const fs::path& folder,
                                        const Shard& shard) {
  const fs::path file = shard_store(folder, shard);
  if (!fs::exists(file)) {
    refuse(file, "is missing; qfsim sweep --shard " + shard.text() + " makes it");
  }
  auto store = std::make_unique<ResultStore>(file, ResultStore::Access::read);
  const StoreIdentity own = identity_of(config, shard);
  const StoreIdentity found = store->identity().value_or(StoreIdentity{});
  if (found.program != own.program) {
    refuse(file, "was made by another build of qfsim; start the shard again");
  }
  if (found != own) {
    refuse(file, "is of another sweep; start the shard again, or remove it");
  }
  const std::uint64_t points = shard.points(own.points);
  if (store->count() != points) {
    refuse(file,
           fmt::format("has {} of its {} points; start the shard again", store->count(), points));
  }
  return store;
}

/// What the point's key has to be; empty for one that is not simulated.
std::string expected_key(const SweepConfig& config, const SweepSpace& space, PointMaker& maker,
                         std::uint64_t index) {
  const SweepPoint point = space.at(index);
  if (space.skipped_by(point) != nullptr) {
    return {};
  }
  try {
    return key_of(config, maker.make(point));
  } catch (const ConfigError&) {
    return {};
  }
}

}  // namespace

fs::path shard_store(const fs::path& folder, const Shard& shard) {
  return folder / fmt::format("shard-{}-of-{}.sqlite", shard.number, shard.count);
}

Shards open_shards(const SweepConfig& config, const fs::path& folder) {
  const std::uint64_t count = shards_in(folder);
  Shards shards;
  shards.reserve(count);
  for (std::uint64_t number = 1; number <= count; ++number) {
    shards.push_back(open_shard(config, folder, {number, count}));
  }
  return shards;
}

void merge_shards(const SweepConfig& config, const fs::path& folder, const Shards& shards,
                  ResultStore& store) {
  const std::uint64_t count = shards.size();
  const SweepSpace space(config);
  PointMaker maker(config);
  store.begin(identity_of(config, {}));
  for (std::uint64_t index = 0; index < space.points(); ++index) {
    const std::optional<StoredPoint> point = shards[index % count]->find(index);
    if (!point || point->key != expected_key(config, space, maker, index)) {
      refuse(shard_store(folder, {index % count + 1, count}),
             fmt::format("is of another configuration at point {}; start the shard again", index));
    }
    store.put(index, *point);
  }
  store.finish();
}

}  // namespace qfs
