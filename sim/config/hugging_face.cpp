// Hugging Face config.json files. What these keys mean, and what a missing one means, is in the
// configuration classes of the transformers library (models/llama, models/mistral, models/qwen3).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "sim/config/section.hpp"

namespace qfs::config {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* legal_models =
    "a dense decoder with rotary embedding, RMSNorm and SwiGLU, all layers alike";

class ConfigJson {
 public:
  explicit ConfigJson(const fs::path& file) : source_(file.string()), text_(read_text_file(file)) {
    try {
      json_ = Json::parse(text_);
    } catch (const Json::parse_error& error) {
      complain({source_, line_of(error.byte)}, "", "is not JSON", "a Hugging Face config.json");
    } catch (const Json::exception&) {  // a number beyond any range; the library does not say where
      complain({source_, 1}, "", "holds a number out of range", "a Hugging Face config.json");
    }
    if (!json_.is_object()) {
      complain({source_, 1}, "", "holds no JSON object", "a Hugging Face config.json");
    }
  }

  /// The value of a key; none if it is absent or null.
  [[nodiscard]] std::optional<Json> get(const std::string& key) const { return get(json_, key); }
  [[nodiscard]] static std::optional<Json> get(const Json& object, const std::string& key) {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? std::nullopt : std::optional<Json>(*found);
  }

  [[nodiscard]] Where where(const std::string& key) const {
    const std::size_t at = text_.find(fmt::format("\"{}\"", key));
    return {source_, at == std::string::npos ? 1 : line_of(at)};
  }

  [[noreturn]] void fail(const std::string& key, const std::string& given,
                         const std::string& legal) const {
    complain(where(key), key, given, legal);
  }

  [[nodiscard]] std::size_t count(const std::string& key) const {
    const std::optional<Json> value = get(key);
    const std::string legal = "a whole number of at least 1";
    if (!value) {
      fail(key, "missing", legal);
    }
    if (!value->is_number_unsigned() || *value == 0) {
      fail(key, value->dump(), legal);
    }
    return value->get<std::size_t>();
  }

  [[nodiscard]] bool flag(const std::string& key) const {
    const Json value = get(key).value_or(false);
    if (!value.is_boolean()) {
      fail(key, value.dump(), "true, false");
    }
    return value.get<bool>();
  }

  /// The file's name is the model's; of a config.json the folder's.
  [[nodiscard]] std::string name() const {
    std::error_code error;
    const fs::path file = fs::absolute(source_, error).lexically_normal();
    return (file.stem() == "config" ? file.parent_path().filename() : file.stem()).string();
  }

 private:
  [[nodiscard]] std::size_t line_of(std::size_t at) const {
    const auto end = text_.begin() + static_cast<std::ptrdiff_t>(std::min(at, text_.size()));
    return static_cast<std::size_t>(std::count(text_.begin(), end, '\n')) + 1;
  }

  std::string source_;
  std::string text_;
  Json json_;
};

/// Keys whose mere presence tells of something that the simulator does not model.
constexpr std::array<std::pair<const char*, const char*>, 6> refused_keys{{
    {"num_experts", "mixture of experts is not modelled"},
    {"num_local_experts", "mixture of experts is not modelled"},
    {"n_routed_experts", "mixture of experts is not modelled"},
    {"kv_lora_rank", "latent attention (MLA) is not modelled"},
    {"quantization_config", "weights are bf16; quantised ones are not modelled"},
    {"text_config", "models of several modalities are not modelled"},
}};

void refuse_windows(const ConfigJson& json) {
  const bool in_use = json.get("use_sliding_window").value_or(true) != false;
  if (in_use && json.get("sliding_window")) {
    json.fail(
        "sliding_window",
        fmt::format("{}; a sliding window is not modelled", json.get("sliding_window")->dump()),
        "null, or use_sliding_window false");
  }
  for (const Json& type : json.get("layer_types").value_or(Json::array())) {
    if (type != "full_attention") {
      json.fail("layer_types", type.dump() + " is not modelled", "full_attention in every layer");
    }
  }
}

/// Scaling changes angles, not work: a run that tells the time alone does not care.
void refuse_scaling(const ConfigJson& json, const char* key, const Json& rope) {
  const std::string legal = fmt::format(
      "null or default; set numerics.mode: off (times are not affected) or remove {}", key);
  for (const char* type_key : {"rope_type", "type"}) {
    const Json type = ConfigJson::get(rope, type_key).value_or("default");
    if (type != "default") {
      json.fail(key,
                fmt::format("{} {}; scaling of the rotary embedding is not modelled", type_key,
                            type.dump()),
                legal);
    }
  }
  if (rope.contains("factor")) {
    json.fail(key, "a factor; scaling of the rotary embedding is not modelled", legal);
  }
}

void refuse_rope(const ConfigJson& json, const Reading& reading) {
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json rope = json.get(key).value_or(Json::object());
    if (!rope.is_object()) {
      json.fail(key, rope.dump(), "null, or a map");
    }
    if (!reading.timing_only) {
      refuse_scaling(json, key, rope);
    }
  }
  if (json.get("partial_rotary_factor").value_or(1) != 1) {
    json.fail("partial_rotary_factor", json.get("partial_rotary_factor")->dump(), "1");
  }
}

void refuse_unmodelled(const ConfigJson& json, const Reading& reading) {
  for (const auto& [key, reason] : refused_keys) {
    if (json.get(key)) {
      json.fail(key, reason, legal_models);
    }
  }
  constexpr std::array<const char*, 3> families{"llama", "mistral", "qwen3"};
  const std::optional<Json> family = json.get("model_type");
  if (!family || std::find(families.begin(), families.end(), *family) == families.end()) {
    json.fail("model_type", family ? family->dump() : "missing", "llama, mistral, qwen3");
  }
  for (const char* key : {"attention_bias", "mlp_bias"}) {
    if (json.flag(key)) {
      json.fail(key, "true; biases are not modelled", "false");
    }
  }
  const Json activation = json.get("hidden_act").value_or("silu");
  if (activation != "silu") {
    json.fail("hidden_act", activation.dump(), "silu");
  }
  refuse_windows(json);
  refuse_rope(json, reading);
}

std::size_t head_dim(const ConfigJson& json) {
  if (json.get("head_dim")) {
    return json.count("head_dim");
  }
  const std::size_t hidden = json.count("hidden_size");
  const std::size_t heads = json.count("num_attention_heads");
  if (hidden % heads != 0) {
    json.fail("hidden_size",
              fmt::format("{} is not divisible by num_attention_heads ({})", hidden, heads),
              "a multiple of it, or a head_dim");
  }
  return hidden / heads;
}

double number(const ConfigJson& json, const std::string& key, const Json& value) {
  if (!value.is_number() || value <= 0) {
    json.fail(key, value.dump(), "a number above 0");
  }
  return value.get<double>();
}

/// Newer files keep the base under rope_parameters.
double rope_theta(const ConfigJson& json) {
  constexpr double usual = 10000;  // the default of the library
  const Json rope = json.get("rope_parameters").value_or(Json::object());
  const Json inner = ConfigJson::get(rope, "rope_theta").value_or(usual);
  return number(json, "rope_theta", json.get("rope_theta").value_or(inner));
}

}  // namespace

ConfigNode read_hugging_face(const fs::path& file, const Reading& reading) {
  const ConfigJson json(file);
  refuse_unmodelled(json, reading);
  ConfigNode map = map_node("", {file.string(), 1});
  const auto add = [&](const char* key, const char* json_key, const std::string& text) {
    map.children.push_back(scalar_node(key, json.where(json_key), text));
  };
  const auto add_count = [&](const char* key, const char* json_key, std::size_t count) {
    add(key, json_key, fmt::format("{}", count));
  };
  add("name", "model_type", json.name());
  add_count("hidden", "hidden_size", json.count("hidden_size"));
  add_count("layers", "num_hidden_layers", json.count("num_hidden_layers"));
  const std::size_t heads = json.count("num_attention_heads");
  add_count("heads", "num_attention_heads", heads);
  add_count("kv_heads", "num_key_value_heads",
            json.get("num_key_value_heads") ? json.count("num_key_value_heads") : heads);
  add_count("head_dim", "head_dim", head_dim(json));
  add_count("ffn", "intermediate_size", json.count("intermediate_size"));
  add_count("vocab", "vocab_size", json.count("vocab_size"));
  add("tied_embedding", "tie_word_embeddings", json.flag("tie_word_embeddings") ? "true" : "false");
  add("qk_norm", "model_type", *json.get("model_type") == "qwen3" ? "true" : "false");
  add("rope_theta", "rope_theta", format_number(rope_theta(json)));
  const double epsilon = number(json, "rms_norm_eps", json.get("rms_norm_eps").value_or(1e-6));
  add("norm_epsilon", "rms_norm_eps", format_number(epsilon));
  return map;
}

}  // namespace qfs::config
