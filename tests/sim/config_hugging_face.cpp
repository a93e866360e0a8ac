// Hugging Face config.json files: what they become, and what is refused.
#include <string>
#include <vector>

#include "tests/sim/config_support.hpp"
#include "tests/support/catch.hpp"

namespace qfs::test {
namespace {

/// The keys of Qwen3-0.6B's file that matter, and some that do not.
const char* const qwen3 = R"({
  "architectures": ["Qwen3ForCausalLM"],
  "attention_bias": false,
  "head_dim": 128,
  "hidden_act": "silu",
  "hidden_size": 1024,
  "intermediate_size": 3072,
  "max_window_layers": 28,
  "model_type": "qwen3",
  "num_attention_heads": 16,
  "num_hidden_layers": 28,
  "num_key_value_heads": 8,
  "rms_norm_eps": 1e-06,
  "rope_scaling": null,
  "rope_theta": 1000000,
  "sliding_window": null,
  "tie_word_embeddings": true,
  "torch_dtype": "bfloat16",
  "use_sliding_window": false,
  "vocab_size": 151936
}
)";

const char* const llama = R"({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
 "num_hidden_layers": 2, "intermediate_size": 11008, "vocab_size": 32000, "rms_norm_eps": 1e-5,
 "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

struct Refused {
  std::string from;
  std::string to;
  std::string begins;
  std::string ends;
};

}  // namespace

TEST_CASE("the config.json of Qwen3-0.6B gives the preset's shape") {
  const ConfigFolder folder;
  folder.write("Qwen3-0.6B/config.json", qwen3);
  const auto file = folder.write("run.yaml", run_text());
  ModelShape json = load_run_config(file, {"model=Qwen3-0.6B/config.json"}).model;
  CHECK(json.name == "Qwen3-0.6B");
  const std::string by_preset = to_yaml(load_run_config(file, {"model.name=x"}));
  CHECK(to_yaml(load_run_config(file, {"model=Qwen3-0.6B/config.json", "model.name=x"})) ==
        by_preset);
  CHECK(to_yaml(load_run_config(file, {"model=./Qwen3-0.6B", "model.name=x"})) == by_preset);
  const std::string absolute = (folder.path() / "Qwen3-0.6B/config.json").string();
  CHECK(to_yaml(load_run_config(file, {"model=" + absolute, "model.name=x"})) == by_preset);
}

TEST_CASE("absent keys take the library's defaults") {
  const ConfigFolder folder;
  folder.write("m/config.json", llama);
  const auto file = folder.write("run.yaml", run_text(2, "model: m/config.json"));
  const ModelShape shape = load_run_config(file).model;
  CHECK(shape.head_dim == 128);
  CHECK(shape.kv_heads == 32);
  CHECK(shape.rope_theta == 500000);
  CHECK(shape.norm_epsilon == 1e-5);
  CHECK_FALSE(shape.tied_embedding);
  CHECK_FALSE(shape.qk_norm);
}

TEST_CASE("what cannot be modelled or read is refused with its line") {
  const std::string dense =
      "; legal: a dense decoder with rotary embedding, RMSNorm and SwiGLU, all layers alike";
  const std::vector<Refused> cases{
      {"\"vocab_size\"", "\"num_experts\": 128,\n\"vocab_size\"",
       "m/config.json:20: num_experts: mixture of experts is not modelled", dense},
      {"\"vocab_size\"", "\"num_local_experts\": 8, \"vocab_size\"",
       "m/config.json:20: num_local_experts: mixture", dense},
      {"\"vocab_size\"", "\"kv_lora_rank\": 512, \"vocab_size\"",
       "m/config.json:20: kv_lora_rank: latent attention (MLA) is not modelled", dense},
      {"\"vocab_size\"", "\"quantization_config\": {}, \"vocab_size\"",
       "m/config.json:20: quantization_config: ", dense},
      {"\"qwen3\"", "\"gemma3\"", "m/config.json:9: model_type: \"gemma3\"",
       "; legal: llama, mistral, qwen3"},
      {"\"qwen3\"", "\"qwen2\"", "m/config.json:9: model_type: \"qwen2\"",
       "; legal: llama, mistral, qwen3"},
      {"\"attention_bias\": false", "\"attention_bias\": true",
       "m/config.json:3: attention_bias: true; biases are not modelled", "; legal: false"},
      {"\"silu\"", "\"gelu\"", "m/config.json:5: hidden_act: \"gelu\"", "; legal: silu"},
      {"\"sliding_window\": null,\n  \"tie_word_embeddings\": true,\n  \"torch_dtype\": "
       "\"bfloat16\",\n  "
       "\"use_sliding_window\": false",
       "\"sliding_window\": 4096,\n  \"use_sliding_window\": true",
       "m/config.json:16: sliding_window: 4096; a sliding window is not modelled",
       "; legal: null, or use_sliding_window false"},
      {"\"rope_scaling\": null", "\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8}",
       "m/config.json:14: rope_scaling: rope_type \"llama3\"; scaling of the rotary embedding is "
       "not modelled",
       "; legal: null or default; set numerics.mode: off (times are not affected) or remove "
       "rope_scaling"},
      {"\"rope_scaling\": null", "\"rope_scaling\": {\"factor\": 8}",
       "m/config.json:14: rope_scaling: a factor; ", "or remove rope_scaling"},
      {"\"hidden_size\": 1024,", "", "m/config.json:1: hidden_size: missing",
       "; legal: a whole number of at least 1"},
      {"1024", "\"1024\"", "m/config.json:6: hidden_size: \"1024\"",
       "; legal: a whole number of at least 1"},
      {"1024", "-1024", "m/config.json:6: hidden_size: -1024",
       "; legal: a whole number of at least 1"},
      {"1024", "1024.5", "m/config.json:6: hidden_size: 1024.5",
       "; legal: a whole number of at least 1"},
      {"1024", "99999999999", "m/config.json:6: hidden: '99999999999'",
       "; legal: a whole number from 1 to 16 Mi"},
      {"\"num_hidden_layers\": 28", "\"num_hidden_layers\": 0",
       "m/config.json:11: num_hidden_layers: 0", "at least 1"},
      {"1000000", "\"big\"", "m/config.json:15: rope_theta: \"big\"", "; legal: a number above 0"},
      {"true", "1", "m/config.json:17: tie_word_embeddings: 1", "; legal: true, false"},
      {"\"num_key_value_heads\": 8", "\"num_key_value_heads\": 3", "run.yaml:2: model.heads: 16",
       "; legal: a multiple of model.kv_heads (3)"},
      {"\"model_type\": \"qwen3\",", "",
       "m/config.json:1: model_type: missing; legal: ", "llama, mistral, qwen3"},
      {"\"vocab_size\": 151936", "\"vocab_size\": ", "m/config.json:21: is not JSON",
       "; legal: a Hugging Face config.json"},
  };
  const ConfigFolder folder;
  const auto file = folder.write("run.yaml", run_text(2, "model: m/config.json"));
  for (const Refused& refused : cases) {
    folder.write("m/config.json", replaced(qwen3, refused.from, refused.to));
    const std::string message = folder.complaint(file);
    CAPTURE(message, refused.begins, refused.ends);
    CHECK(message.starts_with(refused.begins));
    CHECK(message.ends_with(refused.ends));
  }
}

TEST_CASE("scaling of the rotary embedding does not stop a run for the time alone") {
  const ConfigFolder folder;
  const auto file = folder.write("run.yaml", run_text(2, "model: m/config.json"));
  folder.write("m/config.json",
               replaced(qwen3, "\"rope_scaling\": null",
                        "\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8}"));
  CHECK(folder.complaint(file) != "loaded");
  CHECK(folder.complaint(file, {"numerics.mode=full"}) != "loaded");
  CHECK(folder.complaint(file, {"numerics.mode=off"}) == "loaded");
  CHECK(folder.complaint(file, {"numerics=null"}) != "loaded");
}

TEST_CASE("a model is called like its file, or like the folder of a config.json") {
  const ConfigFolder folder;
  folder.write("hf/llama.json", llama);
  folder.write("hf/config.json", llama);
  const auto file = folder.write("run.yaml", run_text());
  const auto name = [&](const std::string& model) {
    return load_run_config(file, {"model=" + model}).model.name;
  };
  CHECK(name("hf/llama.json") == "llama");
  CHECK(name("hf/config.json") == "hf");
  CHECK(name("hf/") == "hf");
}

TEST_CASE("a folder without a config.json names the file that is missing") {
  const ConfigFolder folder;
  folder.write("m/other.json", llama);
  check_message(folder.complaint(folder.write("run.yaml", run_text(2, "model: ./m"))),
                "run.yaml:2: model: './m': no such file: ./m/config.json; legal: ", "config.json");
}

TEST_CASE("a head's size that is not given must divide the width") {
  const ConfigFolder folder;
  const auto file = folder.write("run.yaml", run_text(2, "model: m/config.json"));
  folder.write("m/config.json", replaced(llama, "4096", "4100"));
  CHECK(folder.complaint(file) ==
        "m/config.json:1: hidden_size: 4100 is not divisible by num_attention_heads (32); "
        "legal: a multiple of it, or a head_dim");
}

TEST_CASE("files that are no config.json") {
  const ConfigFolder folder;
  const auto file = folder.write("run.yaml", run_text(2, "model: m/config.json"));
  folder.write("m/config.json", "[1, 2]");
  CHECK(folder.complaint(file) ==
        "m/config.json:1: holds no JSON object; legal: a Hugging Face config.json");
  folder.write("m/config.json", "");
  CHECK(folder.complaint(file) ==
        "m/config.json:1: is not JSON; legal: a Hugging Face config.json");
  folder.write("m/config.json", "{\n\"a\": 1,\n}");
  CHECK(folder.complaint(file) ==
        "m/config.json:3: is not JSON; legal: a Hugging Face config.json");
  folder.write("m/config.json", "{\"hidden_size\": 1e999}");
  CHECK(folder.complaint(file) ==
        "m/config.json:1: holds a number out of range; legal: a Hugging Face config.json");
  folder.write("m/config.json", std::string("{\0}", 3));
  CHECK(folder.complaint(file) ==
        "m/config.json: is not a text file; legal: a text file of at most 1 MiB");
}

}  // namespace qfs::test
