// Files that hold no configuration, and mistakes in the files that a run file names.
#include <fmt/format.h>

#include <string>

#include "sim/config/presets.hpp"
#include "tests/sim/config_support.hpp"
#include "tests/support/catch.hpp"

namespace qfs::test {

TEST_CASE("files that are no configuration") {
  const ConfigFolder folder;
  const std::string yaml_file = "; legal: a text file of at most 1 MiB";
  const auto complaint = [&](const std::string& text) {
    return folder.complaint(folder.write("run.yaml", text));
  };
  CHECK(folder.complaint(folder.path() / "none.yaml") == "none.yaml: no such file" + yaml_file);
  CHECK(folder.complaint(folder.path() / "configs") == "configs: is a folder" + yaml_file);
  CHECK(folder.complaint("/dev/null") == "/dev/null: is not a regular file" + yaml_file);
  CHECK(complaint(std::string("name: x\0y\n", 10)) == "run.yaml: is not a text file" + yaml_file);
  CHECK(complaint(std::string((1 << 20) + 1, '#')) == "run.yaml: is larger than 1 MiB" + yaml_file);
  const std::string map_of_keys = "; legal: a map of keys (see configs/README.md)";
  CHECK(complaint("") == "run.yaml: the file holds no keys" + map_of_keys);
  CHECK(complaint("# nothing\n") == "run.yaml: the file holds no keys" + map_of_keys);
  CHECK(complaint("---\n") == "run.yaml: the file holds no keys" + map_of_keys);
  CHECK(complaint("# x\n- a\n- b\n") == "run.yaml:2: the file holds a list" + map_of_keys);
  CHECK(complaint("hello\n") == "run.yaml:1: the file holds 'hello'" + map_of_keys);
  CHECK(complaint("name: a\n---\nname: b\n") ==
        "run.yaml:2: a second document or stray text starts here; legal: one document in a file");
  CHECK(complaint("name: a\nworkload:\n\tbatch: 1\n") ==
        "run.yaml:3: a tab in the indentation; legal: spaces");
  CHECK(complaint("name: [a\nmodel: b\n") ==
        "run.yaml:2: not YAML: end of sequence flow not found");
  CHECK(complaint("name: a: b\n") == "run.yaml:1: not YAML: illegal map value");
  // yaml-cpp 0.8 adds the anchor's name.
  check_message(complaint("name: *a\n"),
                "run.yaml:1: not YAML: the referenced anchor is not defined", "");
  CHECK(complaint("link: &a {b: *a}\n") ==
        "run.yaml:1: link.b: an alias stands inside the value that it names; "
        "legal: an alias of a value that is complete");
  CHECK(complaint("name: !!binary abc\n") ==
        "run.yaml:1: name: the tag 'tag:yaml.org,2002:binary'; legal: values without tags");
  CHECK(
      complaint("? [a]\n: b\n") ==
      "run.yaml:1: a list or map stands where a key belongs, or is not closed; legal: key: value");
}

TEST_CASE("aliases that grow without bound are stopped") {
  const ConfigFolder folder;
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    text += fmt::format("a{0}: &a{0} [*a{1}", i, i - 1);
    for (int j = 1; j < 10; ++j) {
      text += fmt::format(", *a{}", i - 1);
    }
    text += "]\n";
  }
  check_message(folder.complaint(folder.write("run.yaml", text)), "run.yaml:5: a4: too many values",
                "; legal: at most 100000");
}

TEST_CASE("a mistake in a preset names the preset's file and line") {
  const ConfigFolder folder;
  folder.write("own/configs/hardware/mine.yaml", "memory: ideal\nbandwith: 2 TB/s\n");
  folder.write("own/configs/models/half.yaml", "name: half\nhidden: 64\n");
  const auto device = folder.write("own/run.yaml", run_text(7, "compute_device: mine"));
  const auto complaint = [&](const std::filesystem::path& file) { return folder.complaint(file); };
  check_message(complaint(device), "own/configs/hardware/mine.yaml:2: bandwith: unknown key",
                "did you mean 'bandwidth'?");
  const auto model = folder.write("own/run.yaml", run_text(2, "model: half"));
  check_message(complaint(model), "own/configs/models/half.yaml:1: layers: missing",
                "from 1 to 4096");
}

TEST_CASE("an unknown preset to show names the legal ones") {
  const ConfigFolder folder;
  try {
    static_cast<void>(preset_text("nvlink", folder.path()));
    FAIL("shown");
  } catch (const ConfigError& error) {
    check_message(error.what(),
                  "presets: 'nvlink' is no preset; legal: ", "did you mean 'nvlink3'?");
  }
}

}  // namespace qfs::test
