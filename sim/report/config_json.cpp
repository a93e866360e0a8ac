#include "sim/report/config_json.hpp"

#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "sim/config/schema.hpp"
#include "sim/report/block_note.hpp"

namespace qfs {
namespace {

using Json = nlohmann::ordered_json;

/// A quantity as summary.json has it: a number, and what the key ends in.
struct InJson {
  const char* ending;
  double number;
};
InJson in_json(Seconds time) { return {"_us", to_microseconds(time)}; }
InJson in_json(BytesPerSecond rate) { return {"_gb_per_s", rate.value() / 1e9}; }
InJson in_json(MacsPerSecond rate) { return {"_tmac_per_s", rate.value() / 1e12}; }
InJson in_json(ExpsPerSecond rate) { return {"_texp_per_s", rate.value() / 1e12}; }

/// Visits the schema and writes every key with its value; the unit stands in the key.
class JsonWriter {
 public:
  template <class T, class Form>
  void field(const config::Key& key, const T& value, const Form&) {
    put(key.name, value);
  }
  template <class T>
  void section(const config::Key& key, T& value) {
    json_[key.name] = key.refused_because == nullptr ? written(value) : Json(nullptr);
  }
  template <class T>
  void section(const config::Key& key, std::optional<T>& value) {
    json_[key.name] = value ? written(*value) : Json(nullptr);
  }
  template <class T>
  void sections(const config::Key& key, std::vector<T>& values) {
    json_[key.name] = Json::array();
    for (T& value : values) {
      json_[key.name].push_back(written(value));
    }
  }
  template <class T>
  void preset_section(const config::Key& key, T& value, PresetKind) {
    json_[key.name] = key.refused_because == nullptr ? written(value) : Json(nullptr);
  }
  template <class T>
  void preset_section(const config::Key& key, std::optional<T>& value, PresetKind) {
    json_[key.name] = value ? written(*value) : Json(nullptr);
  }
  [[nodiscard]] const Json& json() const { return json_; }

 private:
  template <class T>
  static Json written(T& value) {
    JsonWriter inner;
    if constexpr (requires { value.preset; }) {
      inner.json_["preset"] = value.preset;
    }
    config::describe(inner, value);
    return inner.json_;
  }

  template <class T>
  void put(const std::string& key, const T& value) {
    if constexpr (std::is_enum_v<T>) {
      json_[key] = name_of(value);
    } else {
      json_[key] = value;
    }
  }
  template <class Unit>
  void put(const std::string& key, const Quantity<Unit, double>& value) {
    const InJson shown = in_json(value);
    json_[key + shown.ending] = std::isfinite(shown.number) ? Json(shown.number) : Json(nullptr);
  }
  template <class Tag>
  void put(const std::string& key, const Index<Tag>& value) {
    json_[key] = value.value();
  }
  void put(const std::string& key, const std::optional<Seconds>& time) {
    json_[key + in_json(Seconds(0)).ending] = time ? Json(in_json(*time).number) : Json(nullptr);
  }
  void put(const std::string& key, const std::optional<Bytes>& size) {
    json_[key + "_bytes"] = size ? Json(size->value()) : Json(nullptr);
  }
  void put(const std::string& key, const std::optional<double>& number) {
    json_[key] = number ? Json(*number) : Json(nullptr);
  }
  void put(const std::string& key, Bytes size) { json_[key + "_bytes"] = size.value(); }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void put(const std::string& key, const std::vector<Enum>& choices) {
    json_[key] = Json::array();
    for (const Enum choice : choices) {
      json_[key].push_back(name_of(choice));
    }
  }

  Json json_ = Json::object();
};

Json block_json(BlockOrder block) {
  const BlockNote note = block_note(block);
  return {{"block", name_of(block)},
          {"runs_existing_checkpoint_unchanged", note.runs_existing_checkpoint},
          {"bits_per_byte_against_control", note.bits_per_byte},
          {"control", name_of(note.control)},
          {"source", std::string(block_source) + ", trained so"}};
}

Json blocks_json(const RunConfig& config) {
  Json blocks = Json::array({block_json(config.block)});
  for (const BlockOrder block : config.compare) {
    blocks.push_back(block_json(block));
  }
  return blocks;
}

}  // namespace

nlohmann::ordered_json config_json(const RunConfig& config) {
  RunConfig visited = config;
  JsonWriter writer;
  config::describe(writer, visited);
  Json json = writer.json();
  json["model"]["weight_bytes"] =
      model_weight_bytes(config.model, config.numerics.formats.weights).value();
  json["workload"].erase("trace");  // a path; what it held stands beside it
  if (config.numerics.inject.kind == FaultKind::none) {
    json["numerics"]["inject"] = nullptr;
  }
  json["blocks"] = blocks_json(config);
  return json;
}

}  // namespace qfs
