#include <fmt/format.h>

#include <boost/algorithm/string.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "hardware/memory/dram/characterise.hpp"
#include "hardware/memory/dram/energy.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/complaint.hpp"
#include "sim/config/dram_load.hpp"
#include "sim/config/presets.hpp"
#include "sim/memory/studies.hpp"

namespace qfs {
namespace {

namespace po = boost::program_options;
using dram::Access;
using dram::Characterisation;
using dram::DramConfig;
using dram::Pattern;
using dram::Tier;

constexpr std::int64_t most_burst_bytes = std::int64_t{64} << 30U;  // minutes of host time
constexpr std::int64_t most_bytes = std::int64_t{4} << 40U;         // an hour of simulated time

CommandLine command_line() {
  CommandLine line{"memory",
                   "qfsim memory PRESET|FILE.yaml --pattern NAME --bytes SIZE [options], or "
                   "qfsim memory PRESET,PRESET...|all --study NAME [--tier NAME]",
                   "Characterises a memory alone: reads in a pattern, from a memory with all banks "
                   "closed.\nSIZE is binary: 16 MB, 16 MiB and 16 Mi are 16 * 2^20 bytes.",
                   {},
                   {"PRESET"},
                   1};
  const auto text = [] { return po::value<std::string>(); };
  line.options.add_options()                                                                  //
      ("pattern", text(), "sequential; alternating: two places in turn, as K and V; stride")  //
      ("bytes", text(), "useful bytes that are read")                                         //
      ("chunk", text(), "of alternating: read from one place before the other; 4 KiB")        //
      ("second", text(), "of alternating: address of the second place; 512 MiB")              //
      ("every", text(), "of stride: one burst of so many; 4")                                 //
      ("study", text(),
       "coalescing: lanes that read neighbours, or rows apart; appends: what rows that arrive to "
       "be "
       "written cost a sweep; a line for each memory")  //
      ("tier", text(), "stream: fast, the default; burst: command by command; ideal: bytes / peak")(
          "set", po::value<std::vector<std::string>>()->composing(),
          "replaces a key of the preset, key=value")  //
      ("json", "print one JSON object");
  return line;
}

[[noreturn]] void refuse(const char* option, const std::string& given, const std::string& legal,
                         const std::string& nearest = {}) {
  config::complain({"qfsim memory"}, option, given, legal, nearest);
}

/// The leading digits of a text, and what follows them; nothing if they are no number.
std::optional<std::int64_t> leading_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Binary whatever the spelling: the tables of memory makers and simulators count so.
Bytes binary_size(const char* option, const std::string& given, std::int64_t least,
                  std::int64_t most) {
  const auto fail = [&]() {
    refuse(
        option, config::in_quotes(given),
        fmt::format("a whole number from {} to {} of B, KiB, MiB, GiB or TiB (KB to TB and Ki to "
                    "Ti are the same)",
                    least, most));
  };
  std::string_view rest = given;
  const std::optional<std::int64_t> number = leading_number(rest);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  unsigned shift = 0;
  if (!rest.empty() && rest.front() != 'B') {
    const std::size_t prefix = std::string_view("KMGT").find(rest.front());
    if (prefix == std::string_view::npos) {
      fail();
    }
    shift = static_cast<unsigned>(10 * (prefix + 1));
    rest.remove_prefix(1);
    if (rest != "B" && rest != "iB" && rest != "i") {
      fail();
    }
  } else if (rest != "B" && !rest.empty()) {
    fail();
  }
  if (!number || *number > (most >> shift) || (*number << shift) < least) {
    fail();
  }
  return Bytes(*number << shift);
}

template <class Enum>
Enum choice(const char* option, const std::string& given) {
  if (const std::optional<Enum> named = value_named<Enum>(given)) {
    return *named;
  }
  std::vector<std::string> names;
  for (const auto& [value, name] : enum_names<Enum>) {
    names.emplace_back(name);
  }
  refuse(option, config::in_quotes(given), config::joined(names),
         config::nearest_spelling(given, names));
}

std::string required_text(const OptionValues& values, const char* option) {
  if (values.count(option) == 0) {
    throw ConfigError(
        fmt::format("qfsim memory: --{} is missing; see qfsim memory --help", option));
  }
  return values[option].as<std::string>();
}

Tier read_tier(const OptionValues& values) {
  if (values.count("tier") == 0) {
    return Tier::stream;
  }
  return choice<Tier>("--tier", values["tier"].as<std::string>());
}

Access read_access(const OptionValues& values, Tier tier) {
  Access access;
  access.pattern = choice<Pattern>("--pattern", required_text(values, "pattern"));
  access.bytes = binary_size("--bytes", required_text(values, "bytes"), 1,
                             tier == Tier::burst ? most_burst_bytes : most_bytes);
  const auto refuse_unless = [&](const char* option, Pattern pattern) {
    const bool given = values.count(option) != 0;
    if (given && access.pattern != pattern) {
      refuse(fmt::format("--{}", option).c_str(), "given",
             fmt::format("nothing here: it belongs to --pattern {}", name_of(pattern)));
    }
    return given;
  };
  if (refuse_unless("chunk", Pattern::alternating)) {
    access.chunk = binary_size("--chunk", values["chunk"].as<std::string>(), 64, most_bytes);
  }
  if (refuse_unless("second", Pattern::alternating)) {
    access.second_place =
        binary_size("--second", values["second"].as<std::string>(), 0, most_bytes);
  }
  if (refuse_unless("every", Pattern::stride)) {
    constexpr std::int64_t most_every = 1'000'000;
    const std::string given = values["every"].as<std::string>();
    std::string_view rest = given;
    const std::optional<std::int64_t> number = leading_number(rest);
    if (!number || !rest.empty() || *number < 1 || *number > most_every) {
      refuse("--every", config::in_quotes(given), "a whole number from 1 to 1000000");
    }
    access.every = static_cast<std::uint64_t>(*number);
  }
  return access;
}

struct Question {
  DramConfig config;
  Access access;
  Tier tier = Tier::stream;

  [[nodiscard]] std::int64_t capacity() const { return config.organisation.capacity().value(); }
  /// Where the last byte lies that is read, but for wrapping round.
  [[nodiscard]] double reach() const {
    const auto bytes = static_cast<double>(access.bytes.value());
    switch (access.pattern) {
      case Pattern::sequential:
        break;
      case Pattern::alternating:
        return static_cast<double>(access.second_place.value()) + bytes / 2;
      case Pattern::stride:
        return bytes * static_cast<double>(access.every);
    }
    return bytes;
  }
};

/// Addresses wrap round, so that a second place beyond the capacity would lie elsewhere.
void check_second_place(const Question& question) {
  const std::int64_t second = question.access.second_place.value();
  if (question.access.pattern == Pattern::alternating && question.tier != Tier::ideal &&
      second >= question.capacity()) {
    refuse("--second", fmt::format("{} bytes", second),
           fmt::format("less than the capacity of {}, {} bytes", question.config.preset,
                       question.capacity()));
  }
}

double nanoseconds(Femtoseconds time) { return to_microseconds(time) * 1000; }

std::string to_json(const Question& question, const Characterisation& result) {
  const double achieved = result.achieved(question.access.bytes).value();
  nlohmann::ordered_json json{{"memory", question.config.preset},
                              {"tier", name_of(question.tier)},
                              {"pattern", name_of(question.access.pattern)},
                              {"bytes", question.access.bytes.value()},
                              {"time_us", to_microseconds(result.time)},
                              {"gb_per_s", achieved / 1e9},
                              {"peak_gb_per_s", result.peak.value() / 1e9},
                              {"share_of_peak", achieved / result.peak.value()},
                              {"single_read_ns", nanoseconds(result.single_read)}};
  if (question.tier != Tier::ideal) {
    const dram::Counters& counters = result.counters;
    json["capacity_bytes"] = question.capacity();
    json["bursts"] = counters.bursts();
    json["row_hits"] = counters.row_hits();
    json["activates"] = counters.activates;
    json["precharges"] = counters.precharges;
    json["precharges_all"] = counters.precharges_all;
    json["refreshes"] = counters.refreshes();
    const std::optional<double> joules = dram::energy_of(question.config, counters);
    json["energy_joules"] = joules ? nlohmann::ordered_json(*joules) : nullptr;
  }
  return json.dump(2) + "\n";
}

std::string to_text(const Question& question, const Characterisation& result) {
  const double achieved = result.achieved(question.access.bytes).value();
  std::string text = fmt::format(
      "{}, {} reads of {} bytes, tier {}\n"
      "  time           {:.3f} us\n"
      "  bandwidth      {:.3f} GB/s\n"
      "  share of peak  {:.1f} % of {:.1f} GB/s\n"
      "  single read    {:.1f} ns\n",
      question.config.preset, name_of(question.access.pattern), question.access.bytes.value(),
      name_of(question.tier), to_microseconds(result.time), achieved / 1e9,
      100 * achieved / result.peak.value(), result.peak.value() / 1e9,
      nanoseconds(result.single_read));
  if (question.tier != Tier::ideal) {
    const dram::Counters& counters = result.counters;
    text += fmt::format(
        "  row hits       {} of {} bursts ({:.1f} %)\n"
        "  activates      {}\n"
        "  refreshes      {}\n",
        counters.row_hits(), counters.bursts(),
        100 * static_cast<double>(counters.row_hits()) / static_cast<double>(counters.bursts()),
        counters.activates, counters.refreshes());
    if (const std::optional<double> joules = dram::energy_of(question.config, counters)) {
      const double bits = 8 * static_cast<double>(question.access.bytes.value());
      text += fmt::format("  energy         {:.3f} uJ, {:.2f} pJ a useful bit\n", 1e6 * *joules,
                          1e12 * *joules / bits);
    }
    if (question.reach() > static_cast<double>(question.capacity())) {
      text += fmt::format("  (beyond the capacity of {} bytes, where addresses wrap round)\n",
                          question.capacity());
    }
  }
  return text;
}

/// Of several memories, their names with commas between, or of all presets.
std::string study_text(const OptionValues& values, const std::vector<std::string>& overrides) {
  for (const char* option : {"pattern", "bytes", "chunk", "second", "every", "json"}) {
    if (values.count(option) != 0) {
      refuse(fmt::format("--{}", option).c_str(), "given", "nothing beside --study");
    }
  }
  const Tier tier = read_tier(values);
  if (tier == Tier::ideal) {
    refuse("--tier", "'ideal', which knows no addresses", "stream, burst");
  }
  const std::string given = values["PRESET"].as<std::string>();
  std::vector<std::string> names;
  if (given == "all") {
    names = preset_names(PresetKind::memory);
  } else {
    boost::algorithm::split(names, given, boost::algorithm::is_any_of(","));
  }
  std::vector<DramConfig> configs;
  configs.reserve(names.size());
  for (const std::string& name : names) {
    configs.push_back(load_dram_named(name, overrides));
  }
  const auto study = choice<MemoryStudy>("--study", values["study"].as<std::string>());
  return study_table(study, configs, tier);
}

}  // namespace

int memory_command(const Arguments& arguments) {
  OptionValues values;
  if (!parse(command_line(), arguments, values)) {
    return exit_done;
  }
  const std::vector<std::string> overrides = listed(values, "set");
  if (values.count("study") != 0) {
    fmt::print("{}", study_text(values, overrides));
    return exit_done;
  }
  Question question;
  question.tier = read_tier(values);
  question.access = read_access(values, question.tier);
  question.config = load_dram_named(values["PRESET"].as<std::string>(), overrides);
  check_second_place(question);
  const Characterisation result =
      dram::characterise(question.config, question.access, question.tier);
  fmt::print("{}",
             values.count("json") != 0 ? to_json(question, result) : to_text(question, result));
  return exit_done;
}

}  // namespace qfs
