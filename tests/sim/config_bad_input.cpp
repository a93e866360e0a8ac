// Every mistake is one line: place, key, what was given, what is legal, the nearest spelling.
#include <string>
#include <vector>

#include "sim/config/presets.hpp"
#include "tests/sim/config_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs::test {
namespace {

/// A run file of which one line is replaced, and how the message must begin and end.
struct BadLine {
  std::size_t line;
  std::string replacement;
  std::string begins;
  std::string ends;
};

/// An argument of --set on a good file.
struct BadOverride {
  std::string argument;
  std::string begins;
  std::string ends;
};

void check_lines(const std::vector<BadLine>& cases) {
  const ConfigFolder folder;
  for (const BadLine& bad : cases) {
    const auto file = folder.write("run.yaml", run_text(bad.line, bad.replacement));
    check_message(folder.complaint(file), bad.begins, bad.ends);
  }
}

void check_overrides(const std::vector<BadOverride>& cases) {
  const ConfigFolder folder;
  const auto file = folder.write("run.yaml", run_text());
  for (const BadOverride& bad : cases) {
    check_message(folder.complaint(file, {bad.argument}), bad.begins, bad.ends);
  }
}

const std::string rates =
    "legal: above 0, in B/s, kB/s, MB/s, GB/s, TB/s, PB/s, KiB/s, MiB/s, GiB/s, TiB/s";
const std::string delays = "legal: from 0 to 1000 s, in s, ms, us, ns, ps, fs";
const std::string blocks =
    "legal: standard, swapped, early_q, early_k, early_qk, parallel, shifted_q, single_q";
/// All presets of a kind, in the order of their names.
std::string legal(PresetKind kind) {
  std::string text = "legal: ";
  for (const std::string& name : preset_names(kind, test::source_dir() + "/configs")) {
    text += (text == "legal: " ? "" : ", ") + name;
  }
  return text;
}

const std::string models =
    "legal: llama-3.1-405b, llama-3.1-70b, llama-3.1-8b, qwen3-0.6b, qwen3-1.7b, qwen3-14b, "
    "qwen3-32b, qwen3-4b, qwen3-8b, or the path of a config.json";
const std::string device_keys =
    "legal: preset, memory, dram, dram_parts, kv_banks, kv_chunk, bandwidth, capacity, mac_rate, "
    "exp_rate, launch_overhead";

}  // namespace

TEST_CASE("the lines that the bad ones are made of are good") {
  const ConfigFolder folder;
  CHECK(folder.complaint(folder.write("run.yaml", run_text())) == "loaded");
}

TEST_CASE("unknown keys name the legal ones and the nearest") {
  check_lines({
      {11, "blok: standard",
       "run.yaml:11: blok: unknown key; legal: name, model, block, compare, arrangement, ",
       "numerics; did you mean 'block'?"},
      {11, "colour: red", "run.yaml:11: colour: unknown key; legal: name, model, ",
       "link, faults, numerics"},
      {6, "workload: {context: 1, batchs: 2}", "run.yaml:6: workload.batchs: unknown key",
       "; legal: trace, batch, in_flight, context, tokens, contexts, request_contexts, "
       "request_tokens, lm_head; did you mean 'batch'?"},
      {6, "workload:\n  batch: 1\n  contxt: 5", "run.yaml:8: workload.contxt: unknown key",
       "did you mean 'context'?"},
      {7, "compute_device: {preset: ideal, band_width: 1 TB/s}",
       "run.yaml:7: compute_device.band_width: unknown key; " + device_keys,
       "did you mean 'bandwidth'?"},
      {9, "link: {Latency: 5 us}",
       "run.yaml:9: link.Latency: unknown key; legal: preset, latency, bandwidth, ",
       "did you mean 'latency'?"},
      {10, "numerics: {inject: {fault: none, layr: 1}}",
       "run.yaml:10: numerics.inject.layr: unknown key; legal: fault, layer, step, operation, "
       "value",
       "did you mean 'layer'?"},
      {10, "numerics: {kv_type: bf16}", "run.yaml:10: numerics.kv_type: unknown key",
       "did you mean 'kv_dtype'?"},
      {2, "model: {preset: qwen3-0.6b, hiden: 5}",
       "run.yaml:2: model.hiden: unknown key; legal: preset, name, hidden",
       "did you mean 'hidden'?"},
  });
}

TEST_CASE("keys given twice name both lines") {
  check_lines({
      {11, "block: standard", "run.yaml:11: block: given twice, first on line 3",
       "; legal: each key once"},
      {11, "\"block\": early_q", "run.yaml:11: block: given twice, first on line 3",
       "each key once"},
      {6, "workload: {context: 1, context: 2}",
       "run.yaml:6: workload.context: given twice, first on line 6", "each key once"},
      {9, "link:\n  latency: 1 us\n  bandwidth: 1 GB/s\n  latency: 2 us",
       "run.yaml:12: link.latency: given twice, first on line 10", "each key once"},
  });
}

TEST_CASE("missing keys name the map that lacks them") {
  check_lines({
      {1, "", "run.yaml:2: name: missing; legal: a folder's name: ", "'.' or '-'"},
      {2, "", "run.yaml:1: model: missing", "; legal: a preset's name, or a map"},
      {3, "", "run.yaml:1: block: missing; " + blocks, "single_q"},
      {5, "", "run.yaml:1: arrangement: missing; legal: colocated, two_device",
       "two_device, pooled, tensor_parallel"},
      {6, "", "run.yaml:1: workload.context: missing; legal: a whole number from 0 to 1 Ti",
       "1 Ti"},
      {6, "workload: {batch: 2}", "run.yaml:6: workload.context: missing",
       "; legal: a whole number from 0 to 1 Ti"},
      {7, "", "run.yaml:1: compute_device: missing", "; legal: a preset's name, or a map"},
      {8, "",
       "run.yaml:1: cache_device: missing, needed with arrangements two_device and "
       "pooled",
       "; legal: a preset's name, or a map"},
      {9, "", "run.yaml:1: link: missing, needed where there is more than one device",
       "; legal: a preset's name, or a map"},
      {2, "model: {hidden: 64}", "run.yaml:2: model.layers: missing",
       "; legal: a whole number from 1 to 4096"},
  });
}

TEST_CASE("quantities need their unit, spelled right, and a value that makes sense") {
  const auto device = [](const std::string& value) {
    return "cache_device: {bandwidth: " + value + "}";
  };
  const std::string key = "run.yaml:8: cache_device.bandwidth: ";
  check_lines({
      {8, device("4.8"), key + "'4.8' has no unit; " + rates, "TiB/s"},
      {8, device("4.8 TB"), key + "'4.8 TB' has the unknown unit 'TB'; " + rates,
       "did you mean '4.8 TB/s'?"},
      {8, device("4.8 tb/s"), key + "'4.8 tb/s' has the unknown unit 'tb/s'; " + rates,
       "did you mean '4.8 TB/s'?"},
      {8, device("1e400 GB/s"), key + "'1e400 GB/s' is beyond the range of numbers; " + rates,
       "TiB/s"},
      {8, device("nan GB/s"), key + "'nan GB/s' is not a number; " + rates, "TiB/s"},
      {8, device(".nan"), key + "'.nan' is not a number; " + rates, "TiB/s"},
      {8, device(".inf GB/s"), key + "'.inf GB/s' is not a number; " + rates, "TiB/s"},
      {8, device("inf GB/s"), key + "'inf GB/s' is not a number; " + rates, "TiB/s"},
      {8, device("-1 GB/s"), key + "'-1 GB/s' is negative; " + rates, "TiB/s"},
      {8, device("0 GB/s"), key + "'0 GB/s'; " + rates, "TiB/s"},
      {8, device("unlimited"), key + "'unlimited' is not a number; " + rates, "TiB/s"},
      {8, device("[1 TB/s]"), key + "a list; " + rates, "TiB/s"},
      {8, device("{a: 1}"), key + "a map; " + rates, "TiB/s"},
      {8, device(""), key + "nothing; " + rates, "TiB/s"},
      {9, "link: {latency: -1 us}", "run.yaml:9: link.latency: '-1 us' is negative; " + delays,
       "fs"},
      {9, "link: {latency: 5}", "run.yaml:9: link.latency: '5' has no unit; " + delays, "fs"},
      {9, "link: {latency: 5 uS}",
       "run.yaml:9: link.latency: '5 uS' has the unknown unit 'uS'; " + delays,
       "did you mean '5 us'?"},
      {9, "link: {latency: 1e4 s}", "run.yaml:9: link.latency: '1e4 s'; " + delays, "fs"},
      {7, "compute_device: {capacity: 0.3 B}",
       "run.yaml:7: compute_device.capacity: '0.3 B' is not a whole number of bytes; legal: from 1 "
       "B",
       "unlimited"},
      {7, "compute_device: {capacity: 80 gib}",
       "run.yaml:7: compute_device.capacity: '80 gib' has the unknown unit 'gib'",
       "did you mean '80 GiB'?"},
      {7, "compute_device: {mac_rate: 989 TFLOPS}",
       "run.yaml:7: compute_device.mac_rate: '989 TFLOPS' has the unknown unit 'TFLOPS'; legal: "
       "above 0, in MAC/s",
       "did you mean '989 TFLOP/s'?"},
  });
}

TEST_CASE("wrong types and values name what is legal") {
  check_lines({
      {3, "block: early_p", "run.yaml:3: block: 'early_p'; " + blocks, "did you mean 'early_q'?"},
      {3, "block: early-q", "run.yaml:3: block: 'early-q'; " + blocks, "did you mean 'early_q'?"},
      {3, "block: 3", "run.yaml:3: block: '3'; " + blocks, "single_q"},
      {3, "block: [standard]", "run.yaml:3: block: a list; " + blocks, "single_q"},
      {4, "compare: standard",
       "run.yaml:4: compare: 'standard'; legal: a list in brackets, each item: standard",
       "single_q"},
      {4, "compare:\n  - standard\n  - swaped", "run.yaml:6: compare: 'swaped'; legal: a list",
       "did you mean 'swapped'?"},
      {6, "workload: 5", "run.yaml:6: workload: '5'", "; legal: a map of keys"},
      {6, "workload: {context: many}", "run.yaml:6: workload.context: 'many' is not a number",
       "0 to 1 Ti"},
      {6, "workload: {context: 12abc}",
       "run.yaml:6: workload.context: '12abc' has the unknown unit 'abc'", "1 Ti"},
      {6, "workload: {context: 1.5}", "run.yaml:6: workload.context: '1.5' is not a whole number",
       "1 Ti"},
      {6, "workload: {context: 1 ki}",
       "run.yaml:6: workload.context: '1 ki' has the unknown unit 'ki'", "did you mean '1 Ki'?"},
      {6, "workload: {context: 2 Ti}", "run.yaml:6: workload.context: '2 Ti'", "from 0 to 1 Ti"},
      {6, "workload: {context: 99999999999999999999}",
       "run.yaml:6: workload.context: '99999999999999999999' is too large", "1 Ti"},
      {6, "workload: {context: 1, batch: 0}", "run.yaml:6: workload.batch: '0'",
       "; legal: a whole number from 1 to 65536"},
      {6, "workload: {context: 1, batch: -1}", "run.yaml:6: workload.batch: '-1' is negative",
       "from 1 to 65536"},
      {6, "workload: {context: 1, tokens: 0}", "run.yaml:6: workload.tokens: '0'",
       "from 1 to 4096"},
      {6, "workload: {context: 1, lm_head: yes}", "run.yaml:6: workload.lm_head: 'yes'",
       "; legal: true, false"},
      {10, "numerics: {seed: -1}", "run.yaml:10: numerics.seed: '-1'",
       "; legal: a whole number from 0 to 2^64 - 1, in digits"},
      {10, "numerics: {kv_dtype: half}", "run.yaml:10: numerics.kv_dtype: 'half'",
       "; legal: fp32, fp16, bf16, fp8_e4m3, fp8_e5m2, int8"},
      {10, "numerics: {mode: on}", "run.yaml:10: numerics.mode: 'on'", "; legal: full, off"},
      {1, "name: a/b", "run.yaml:1: name: 'a/b'; legal: a folder's name", "'-'"},
      {1, "name: ..", "run.yaml:1: name: '..'; legal: a folder's name", "'-'"},
      {1, "name:", "run.yaml:1: name: nothing; legal: a folder's name", "'-'"},
  });
}

TEST_CASE("presets that do not exist name those that do") {
  check_lines({
      {2, "model: qwen3-0.6", "run.yaml:2: model: 'qwen3-0.6'; " + models,
       "did you mean 'qwen3-0.6b'?"},
      {2, "model: Qwen3-4B", "run.yaml:2: model: 'Qwen3-4B'; " + models,
       "did you mean 'qwen3-4b'?"},
      {2, "model: gpt-5", "run.yaml:2: model: 'gpt-5'; " + models, "config.json"},
      {2, "model: [qwen3-4b]", "run.yaml:2: model: a list", "; legal: a preset's name, or a map"},
      {2, "model: nowhere/config.json",
       "run.yaml:2: model: 'nowhere/config.json': no such file; " + models, "config.json"},
      {7, "compute_device: idael",
       "run.yaml:7: compute_device: 'idael'; " + legal(PresetKind::hardware) + "; ",
       "did you mean 'ideal'?"},
      {8, "cache_device: {preset: ../hardware/ideal}",
       "run.yaml:8: cache_device: '../hardware/ideal'; legal: ", legal(PresetKind::hardware)},
      {9, "link: {preset: nvlink-4}",
       "run.yaml:9: link: 'nvlink-4'; " + legal(PresetKind::link) + "; ",
       "did you mean 'nvlink4'?"},
  });
}

TEST_CASE("keys that contradict each other say why") {
  check_lines({
      {5, "arrangement: colocated",
       "run.yaml:8: cache_device: given, but with arrangement colocated one device holds "
       "everything",
       "; legal: nothing here; remove it, or --set cache_device=null"},
      {4, "compare: [early_q]", "run.yaml:4: compare: 'early_q' is the block itself",
       "; legal: other block orders"},
      {4, "compare: [standard, standard]", "run.yaml:4: compare: 'standard' is given twice",
       "; legal: each block order once"},
      {10, "numerics: {mode: off, inject: {fault: swap_kv}}",
       "run.yaml:10: numerics.inject: a fault that nothing would see",
       "; legal: with numerics.mode full and numerics.check every_step"},
      {10, "numerics: {check: off, inject: {fault: swap_kv}}",
       "run.yaml:10: numerics.inject: a fault that", "every_step"},
      {10, "numerics: {inject: {fault: swap_kv, layer: 28}}",
       "run.yaml:10: numerics.inject.layer: 28", "; legal: below the model's 28 layers"},
      {10, "numerics: {inject: {fault: drop_edge, operation: fnn}}",
       "run.yaml:10: numerics.inject.operation: 'fnn'; legal: embed, q, k, ",
       "did you mean 'ffn'?"},
      {10, "numerics: {inject: {fault: swap_kv, step: 4}}", "run.yaml:10: numerics.inject.step: 4",
       "; legal: below workload.tokens, 4"},
  });
  const ConfigFolder folder;
  const auto file =
      folder.write("run.yaml",
                   "name: a\nmodel: qwen3-0.6b\nblock: standard\narrangement: colocated\n"
                   "workload: {context: 8}\ncompute_device: ideal\nlink: ideal\n");
  check_message(folder.complaint(file), "run.yaml:7: link: given, but with arrangement colocated",
                "; legal: nothing here; remove it, or --set link=null");
}

TEST_CASE("a fault that could not happen is no test of the check") {
  check_overrides({
      {"numerics.inject={fault: skip_position}", "loaded", "loaded"},
      {"numerics.inject={fault: wrong_weights}", "loaded", "loaded"},
      {"numerics.inject={fault: alter_in_flight}", "loaded", "loaded"},
  });
  const ConfigFolder folder;
  const auto file =
      folder.write("run.yaml",
                   "name: a\nmodel: qwen3-0.6b\nblock: standard\narrangement: colocated\n"
                   "workload: {context: 0}\ncompute_device: ideal\n");
  const auto inject = [&](const std::string& fault, const std::string& model) {
    return folder.complaint(file, {"numerics.inject.fault=" + fault, "model=" + model});
  };
  const auto nothing = [&](const std::string& fault) {
    return "--set numerics.inject.fault=" + fault +
           ": numerics.inject: nothing in layer 0 of step 0 for the fault " + fault + " (";
  };
  const std::string ends =
      ", block standard; legal: a fault that can happen in `block` and in each "
      "of `compare`";
  check_message(inject("alter_in_flight", "qwen3-0.6b"), nothing("alter_in_flight"), ends);
  check_message(inject("skip_position", "qwen3-0.6b"), nothing("skip_position"), ends);
  CHECK(
      inject("wrong_weights", "{preset: qwen3-0.6b, layers: 1}") ==
      "--set numerics.inject.fault=wrong_weights: numerics.inject.fault: wrong_weights, but there "
      "is no other layer; legal: with model.layers above 1");
}

TEST_CASE("shapes that cannot be") {
  const auto shape = [](const std::string& keys) {
    return "model: {preset: qwen3-0.6b, " + keys + "}";
  };
  check_lines({
      {2, shape("heads: 15"), "run.yaml:2: model.heads: 15",
       "; legal: a multiple of model.kv_heads (8)"},
      {2, shape("head_dim: 127"), "run.yaml:2: model.head_dim: 127",
       "; legal: an even number, since the rotary embedding turns pairs"},
      {2, shape("layers: 0"), "run.yaml:2: model.layers: '0'",
       "; legal: a whole number from 1 to 4096"},
      {2, shape("rope_theta: 0"), "run.yaml:2: model.rope_theta: '0'",
       "; legal: a number above 0, without a unit"},
      {2, shape("hidden: 1 Gi"), "run.yaml:2: model.hidden: '1 Gi'",
       "; legal: a whole number from 1 to 16 Mi"},
      {2, "model:\n  preset: qwen3-0.6b\n  heads: 12", "run.yaml:4: model.heads: 12",
       "; legal: a multiple of model.kv_heads (8)"},
      {2, shape("kv_heads: 5"), "run.yaml:2: model.heads: 16",
       "; legal: a multiple of model.kv_heads (5)"},
  });
}

TEST_CASE("what does not fit a device or the clock stops the run") {
  check_lines({
      {7, "compute_device: {capacity: 1 GiB}", "run.yaml:7: compute_device.capacity: 1 GiB",
       "; legal: at least 1.111 GiB for the weights"},
      {8, "cache_device: {capacity: 500 MiB}",
       "run.yaml:8: cache_device.capacity: 500 MiB; legal: at least 504.5",
       " MiB for the KV cache at context 4608, batch 1, tokens 4"},
      {6, "workload: {context: 1 Ti, batch: 65536}",
       "run.yaml:6: workload: ", "a smaller model, batch, context or tokens"},
      {8, "cache_device: {bandwidth: 1 B/s}",
       "run.yaml:6: workload: could take 2.13e+09 s of simulated time at context 4608, most of it "
       "for cache_device.bandwidth; legal: up to 4500 s",
       "since the clock counts femtoseconds in 64 bits"},
  });
}

TEST_CASE("bad overrides name the argument") {
  check_overrides({
      {"workload.batch", "--set workload.batch: has no '='",
       "; legal: --set key.path=value, as in --set workload.batch=8"},
      {"", "--set : has no '='", "workload.batch=8"},
      {"=5", "--set =5: a key is empty", "workload.batch=8"},
      {"workload..batch=5", "--set workload..batch=5: a key is empty", "workload.batch=8"},
      {"blok=standard", "--set blok=standard: blok: unknown key; legal: name, ",
       "did you mean 'block'?"},
      {"workload.bach=2", "--set workload.bach=2: workload.bach: unknown key",
       "did you mean 'batch'?"},
      {"workload.batch=two", "--set workload.batch=two: workload.batch: 'two' is not a number",
       "from 1 to 65536"},
      {"workload.batch=", "--set workload.batch=: workload.batch: nothing", "from 1 to 65536"},
      {"workload.contexts=5", "--set workload.contexts=5: workload.contexts: '5'; legal: a list",
       "1 Ti"},
      {"workload.contexts=[1 Ki, x]",
       "--set workload.contexts=[1 Ki, x]: workload.contexts: 'x' is not a number", "1 Ti"},
      {"link.latency=5", "--set link.latency=5: link.latency: '5' has no unit; " + delays, "fs"},
      {"block.order=1", "--set block.order=1: block: a map; " + blocks, "single_q"},
      {"compare.0=swapped", "--set compare.0=swapped: compare: is a list",
       "--set compare=[standard]"},
      {"compare=[early_q]", "--set compare=[early_q]: compare: 'early_q' is the block itself",
       "other block orders"},
      {"workload={batch: 1",
       "--set workload={batch: 1: a list or map stands where a key belongs, or is not closed",
       "key: value"},
      {"workload={batch: 1, batch: 2}", "--set workload={batch: 1, batch: 2}: batch: given twice",
       "each key once"},
      {"cache_device.capacity=1 MiB",
       "--set cache_device.capacity=1 MiB: cache_device.capacity: 1 MiB; legal: at least 504.5 "
       "MiB",
       "tokens 4"},
      {"workload.contexts=[1 Mi]", "loaded", "loaded"},
  });
}

}  // namespace qfs::test
