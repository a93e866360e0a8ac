// Good configurations: what they load to, and that what is resolved is complete.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "sim/config/presets.hpp"
#include "sim/config/tree.hpp"
#include "tests/sim/config_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs::test {

using namespace config;
namespace {

namespace fs = std::filesystem;

const fs::path configs = test::source_dir() + "/configs";

RunConfig load(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const ConfigFolder folder;
  return load_run_config(folder.write("run.yaml", text), overrides);
}

RunConfig load_line(std::size_t line, const std::string& replacement) {
  return load(run_text(line, replacement));
}

/// Another value than the default for every key.
const char* const everything = R"(name: all
model: {name: 'a model: #1', hidden: 64, layers: 3, heads: 4, kv_heads: 2, head_dim: 18,
        ffn: 96, vocab: 100,
        tied_embedding: true, qk_norm: true, rope_theta: 1234.5, norm_epsilon: 0}
block: swapped
compare: [standard, early_q]
arrangement: two_device
current_token: append_first
accounting: weights_and_sweep
workload: {batch: 3, context: 0, tokens: 2, contexts: [1, 1 Ki, 1 Mi], lm_head: false}
compute_device: {bandwidth: 3.35 TB/s, capacity: 80 GiB, mac_rate: 989 TFLOP/s, exp_rate: 4 Texp/s,
                 launch_overhead: 3.3 us}
cache_device: {preset: ideal, bandwidth: 0.1 GiB/s, capacity: 141000000001 B}
link: {preset: nvlink4, latency: 33.3 us, message_overhead: 1 ns, jitter: 0.1 us,
       jitter_seed: 18446744073709551615}
numerics: {seed: 18446744073709551615, kv_dtype: fp32, wire_dtype: fp32, residual_wire_dtype: bf16,
           inject: {fault: drop_edge, layer: 2, step: 1, operation: sweep, value: q}}
)";

}  // namespace

TEST_CASE("the quickstart loads to the values it states") {
  const RunConfig run = load_run_config(configs / "runs/quickstart.yaml");
  CHECK(run.name == "quickstart");
  CHECK(run.model.name == "qwen3-0.6b");
  CHECK(run.model.hidden == 1024);
  CHECK(run.model.layers == 28);
  CHECK(run.model.heads == 16);
  CHECK(run.model.kv_heads == 8);
  CHECK(run.model.head_dim == 128);
  CHECK(run.model.ffn == 3072);
  CHECK(run.model.vocab == 151936);
  CHECK(run.model.tied_embedding);
  CHECK(run.model.qk_norm);
  CHECK(run.model.rope_theta == 1e6);
  CHECK(run.model.norm_epsilon == 1e-6);
  CHECK(run.block == BlockOrder::early_q);
  CHECK(run.compare == std::vector{BlockOrder::standard});
  CHECK(run.arrangement == Arrangement::two_device);
  CHECK(run.current_token == CurrentToken::merge);
  CHECK(run.accounting == Accounting::full);
  CHECK(run.workload.batch == 1);
  CHECK(run.workload.context == 4608);
  CHECK(run.workload.tokens == 4);
  CHECK(run.workload.contexts ==
        std::vector<std::size_t>{1024, 2048, 4096, 8192, 16384, 65536, 262144, 1048576});
  CHECK(run.workload.lm_head);
  CHECK(run.compute_device.bandwidth.value() == 1e12);
  CHECK(run.cache_device.bandwidth.value() == 1e12);
  CHECK(run.link.latency.value() == 5e-6);
  CHECK(run.link.bandwidth.value() == 450e9);
  CHECK(run.numerics.mode == NumericsMode::full);
  CHECK(run.numerics.seed == 1);
  CHECK(run.numerics.formats.kv == Format::bf16);
  CHECK(run.numerics.formats.wire == Format::bf16);
  CHECK(run.numerics.formats.residual_wire == Format::fp32);
  CHECK(run.numerics.check == NumericsCheck::every_step);
  CHECK(run.numerics.inject.kind == FaultKind::none);
}

TEST_CASE("every key is read") {
  const RunConfig run = load(everything);
  CHECK(run.model.name == "a model: #1");
  CHECK(run.model.head_dim == 18);
  CHECK(run.model.rope_theta == 1234.5);
  CHECK(run.model.norm_epsilon == 0);
  CHECK(run.compare == std::vector{BlockOrder::standard, BlockOrder::early_q});
  CHECK(run.current_token == CurrentToken::append_first);
  CHECK(run.accounting == Accounting::weights_and_sweep);
  CHECK(run.workload.batch == 3);
  CHECK(run.workload.context == 0);
  CHECK_FALSE(run.workload.lm_head);
  CHECK(run.compute_device.capacity == Bytes(85899345920));
  CHECK(run.compute_device.mac_rate.value() == 494.5e12);
  CHECK(run.compute_device.exp_rate.value() == 4e12);
  CHECK(run.compute_device.launch_overhead.value() == 3.3e-6);
  CHECK(run.cache_device.bandwidth.value() == 0.1 * 1073741824.0);
  CHECK(run.cache_device.capacity == Bytes(141'000'000'001));
  CHECK(run.link.preset == "nvlink4");
  CHECK(run.link.latency.value() == 33.3e-6);
  CHECK(run.link.bandwidth.value() == 450e9);
  CHECK(run.link.message_overhead.value() == 1e-9);
  CHECK(run.link.jitter.value() == 0.1e-6);
  CHECK(run.link.jitter_seed == 18446744073709551615U);
  CHECK(run.numerics.seed == 18446744073709551615U);
  CHECK(run.numerics.formats.kv == Format::fp32);
  CHECK(run.numerics.inject.kind == FaultKind::drop_edge);
  CHECK(run.numerics.inject.layer == LayerId(2));
  CHECK(run.numerics.inject.step == StepId(1));
  CHECK(run.numerics.inject.operation == OpKind::sweep);
  CHECK(run.numerics.inject.value == ValueKind::q);
}

TEST_CASE("a resolved configuration is complete and loads to the same, wherever it lies") {
  // Printing loses nothing (config_quantity.cpp), so equal texts are equal configurations.
  std::vector<RunConfig> runs{load(everything), load(run_text())};
  for (const auto& entry : fs::directory_iterator(configs / "runs")) {
    runs.push_back(load_run_config(entry.path()));
  }
  for (const RunConfig& run : runs) {
    const std::string resolved = to_yaml(run);
    const ConfigFolder folder;
    fs::remove(folder.path() / "configs");
    CHECK(to_yaml(load_run_config(folder.write("config.yaml", resolved))) == resolved);
  }
  CHECK(to_yaml(runs[0]).find(
            "\n  bandwidth: 3.35 TB/s\n  capacity: 80 GiB\n  mac_rate: 494.5 TMAC/s\n") !=
        std::string::npos);
}

TEST_CASE("a device and a link are a preset's name, a map, or both") {
  CHECK(load_line(9, "link: nvlink4").link.bandwidth.value() == 450e9);
  const LinkConfig link = load_line(9, "link: {preset: rdma-400g-nccl, latency: 1 us}").link;
  CHECK(link.preset == "rdma-400g-nccl");
  CHECK(link.latency.value() == 1e-6);
  CHECK(link.bandwidth.value() == 35.5e9);
  CHECK(load_line(7, "compute_device: {}").compute_device.preset == "ideal");
}

TEST_CASE("the defaults of a device and a link are the presets named ideal") {
  const RunConfig defaults = load(
      "name: a\nmodel: qwen3-0.6b\nblock: standard\narrangement: two_device\n"
      "workload: {context: 1}\ncompute_device: {}\ncache_device: {}\nlink: {}\n");
  const RunConfig ideal = load(
      "name: a\nmodel: qwen3-0.6b\nblock: standard\narrangement: two_device\n"
      "workload: {context: 1}\ncompute_device: ideal\ncache_device: ideal\nlink: ideal\n");
  CHECK(to_yaml(defaults) == to_yaml(ideal));
}

TEST_CASE("a model may change single numbers of a preset, and is then called so") {
  const ModelShape model = load_line(2, "model: {preset: qwen3-0.6b, layers: 2}").model;
  CHECK(model.layers == 2);
  CHECK(model.hidden == 1024);
  CHECK(model.name == "qwen3-0.6b-modified");
  CHECK(load_line(2, "model: {preset: qwen3-0.6b, layers: 2, name: tiny}").model.name == "tiny");
  CHECK(load_line(
            2,
            "model: {hidden: 64, layers: 1, heads: 2, kv_heads: 1, head_dim: 32, ffn: 8, vocab: 9}")
            .model.name == "custom");
}

TEST_CASE("overrides replace, add and are typed like the file, and the last one wins") {
  const RunConfig run =
      load(run_text(), {"workload.batch=8", "workload.contexts=[1 Ki, 4608]", "link.jitter=1 ns",
                        "link.latency=1 us", "link.latency=2 us", "compute_device=ideal",
                        "model.layers=2", "numerics.inject={fault: skip_position, layer: 1}",
                        "compare=[]", "name=a=b", "name=other"});
  CHECK(run.workload.batch == 8);
  CHECK(run.workload.contexts == std::vector<std::size_t>{1024, 4608});
  CHECK(run.link.jitter.value() == 1e-9);
  CHECK(run.link.latency.value() == 2e-6);
  CHECK(run.link.bandwidth.value() == 450e9);
  CHECK(run.model.layers == 2);
  CHECK(run.model.hidden == 1024);
  CHECK(run.numerics.inject.layer == LayerId(1));
  CHECK(run.compare.empty());
  CHECK(run.name == "other");
}

TEST_CASE("a colocated run has one device") {
  const std::string text =
      "name: a\nmodel: qwen3-0.6b\nblock: standard\narrangement: colocated\n"
      "workload: {context: 8}\ncompute_device: ideal\n";
  const std::string resolved = to_yaml(load(text));
  CHECK(resolved.find("cache_device") == std::string::npos);
  CHECK(resolved.find("link") == std::string::npos);
  CHECK(to_yaml(load(resolved)) == resolved);
}

TEST_CASE("weights and cache fit exactly or not at all") {
  const auto load_with = [](const std::string& capacity, const std::string& context) {
    const ConfigFolder folder;
    const auto file =
        folder.write("run.yaml", run_text(6, "workload: {context: " + context + ", tokens: 4}"));
    return folder.complaint(file, {"cache_device.capacity=" + capacity});
  };
  // 112 KiB a position: 16 positions and 4 tokens are 2240 KiB.
  CHECK(load_with("2240 KiB", "16") == "loaded");
  CHECK(load_with("2240 KiB", "17") != "loaded");
  const auto weights =
      static_cast<double>(model_weight_bytes(load(run_text()).model, Format::bf16).value());
  const std::string exact = std::to_string(static_cast<std::int64_t>(weights));
  const ConfigFolder folder;
  const auto file = folder.write("run.yaml", run_text());
  CHECK(folder.complaint(file, {"compute_device.capacity=" + exact + " B"}) == "loaded");
  CHECK(folder.complaint(file, {"compute_device.capacity=" + exact + " B", "model.vocab=151937"}) !=
        "loaded");
}

TEST_CASE("capacity is asked for every context, and colocated needs room for both") {
  const ConfigFolder folder;
  const auto file = folder.write("run.yaml", run_text());
  const auto further =
      folder.complaint(file, {"cache_device.capacity=1 GiB", "workload.contexts=[1 Ki, 1 Mi]"});
  CHECK(
      further ==
      "--set cache_device.capacity=1 GiB: cache_device.capacity: 1 GiB; legal: at least 112.1 GiB "
      "for the KV cache at context 1 Mi, batch 1, tokens 4");
  const auto alone =
      folder.write("one.yaml",
                   "name: a\nmodel: qwen3-0.6b\nblock: standard\narrangement: colocated\n"
                   "workload: {context: 8 Ki}\ncompute_device: {capacity: 1.5 GiB}\n");
  CHECK(folder.complaint(alone).starts_with(
      "one.yaml:6: compute_device.capacity: 1.5 GiB; legal: at least 1.986"));
}

TEST_CASE("all shipped configurations load") {
  std::size_t loaded = 0;
  for (const auto& entry : fs::directory_iterator(configs / "runs")) {
    CAPTURE(entry.path());
    CHECK(load_run_config(entry.path()).name == entry.path().stem());
    ++loaded;
  }
  CHECK(loaded >= 4);
  for (const std::string& name : preset_names(PresetKind::model, configs)) {
    CHECK(load_line(2, "model: " + name).model.name == name);
  }
  for (const std::string& name : preset_names(PresetKind::hardware, configs)) {
    CHECK(load_line(7, "compute_device: " + name).compute_device.preset == name);
  }
  for (const std::string& name : preset_names(PresetKind::link, configs)) {
    CHECK(load_line(9, "link: " + name).link.preset == name);
  }
  CHECK(preset_names(PresetKind::model, configs).size() == 9);
}

TEST_CASE("null takes a key away") {
  const auto with = [](const std::vector<std::string>& overrides) {
    return load(run_text(), overrides);
  };
  const RunConfig alone =
      with({"arrangement=colocated", "cache_device=null", "link=null", "compare=null"});
  CHECK(alone.arrangement == Arrangement::colocated);
  CHECK(alone.compare.empty());
  CHECK(with({"workload.tokens=~", "numerics=null"}).workload.tokens == 1);
  CHECK(with({"link=null", "link.latency=1 us"}).link.latency.value() == 1e-6);
  CHECK(load_line(9, "link: {preset: nvlink4, latency: null}").link.preset == "nvlink4");
  CHECK(load_line(9, "link: {preset: null, bandwidth: Null}").link.bandwidth.value() == unlimited);
  CHECK(load_line(2, "model: {preset: qwen3-0.6b, layers: null}").model.name == "qwen3-0.6b");
  CHECK(load_line(1, "name: 'null'").name == "null");
}

TEST_CASE("presets can be shown, and a run file begun") {
  CHECK(preset_text("ideal", configs).find("configs/links/ideal.yaml\n") != std::string::npos);
  CHECK(preset_text("ideal", configs).find("configs/hardware/ideal.yaml\n") != std::string::npos);
  CHECK(preset_text("qwen3-4b", configs).find("\nhidden: 2560\n") != std::string::npos);
  CHECK(load(init_template()).name == "my-run");
}

TEST_CASE("the nearest configs folder comes before the shipped one") {
  const ConfigFolder folder;
  folder.write("a/configs/links/nvlink4.yaml", "latency: 1 ms\n");
  const auto file = folder.write("a/b/c/run.yaml", run_text(9, "link: nvlink4"));
  CHECK(load_run_config(file).link.latency.value() == 1e-3);
  const auto inside = folder.write("a/configs/runs/run.yaml", run_text(9, "link: nvlink4"));
  CHECK(load_run_config(inside, {"link.bandwidth=1 GB/s"}).link.latency.value() == 1e-3);
}

TEST_CASE("the README of the configurations holds the table of keys as the program prints it") {
  const std::string readme = read_text_file(configs / "README.md");
  CHECK(readme.find(documentation()) != std::string::npos);
}

}  // namespace qfs::test
