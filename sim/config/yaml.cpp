// The only user of yaml-cpp. Its node tree keeps neither duplicate keys' complaints nor places of
// missing ones, so the parser's events are turned into our own tree.
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <sstream>

#include "sim/config/tree.hpp"

namespace qfs::config {
namespace {

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& text, const std::string& source, bool has_lines)
      : text_(text), source_(source), has_lines_(has_lines) {}

  [[nodiscard]] ConfigNode take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      complain(place(mark), "", "a second document or stray text starts here",
               "one document in a file");
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(mark, anchor, says_null(mark) ? ConfigNode::Kind::null : ConfigNode::Kind::nothing, {});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) {
      complain(place(mark), path(), "an alias stands inside the value that it names",
               "an alias of a value that is complete");
    }
    count_nodes(mark, found->second);
    add_node(mark, found->second);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_tag(mark, tag);
    add(mark, anchor, ConfigNode::Kind::scalar, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    open(mark, anchor, ConfigNode::Kind::list);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    open(mark, anchor, ConfigNode::Kind::map);
  }
  void OnMapEnd() override { close(); }

 private:
  /// A list or map whose end has not come yet.
  struct Open {
    ConfigNode node;
    YAML::anchor_t anchor = 0;
    YAML::Mark mark;
    bool has_key = false;
    std::string key;
    Where key_where;
  };

  [[nodiscard]] Where place(const YAML::Mark& mark) const {
    return {source_, has_lines_ ? static_cast<std::size_t>(mark.line) + 1 : 0};
  }

  [[nodiscard]] std::string path() const {
    std::string joined;
    for (const Open& open : open_) {
      joined = open.has_key ? joined_path(joined, open.key) : joined;
    }
    return joined;
  }

  [[nodiscard]] bool expects_key() const {
    return !open_.empty() && open_.back().node.kind == ConfigNode::Kind::map &&
           !open_.back().has_key;
  }

  /// The parser's events do not tell a null that was written from a value that was left out; its
  /// place does.
  [[nodiscard]] bool says_null(const YAML::Mark& mark) const {
    if (mark.pos < 0 || static_cast<std::size_t>(mark.pos) >= text_.size()) {
      return false;
    }
    const std::string_view rest =
        std::string_view(text_).substr(static_cast<std::size_t>(mark.pos));
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r\n,]}"));
    return word == "~" || word == "null" || word == "Null" || word == "NULL";
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!") {
      complain(place(mark), path(), fmt::format("the tag {}", in_quotes(tag)),
               "values without tags");
    }
  }

  /// Aliases of aliases could grow a short text without bound.
  void count_nodes(const YAML::Mark& mark, const ConfigNode& node) {
    constexpr std::size_t most_nodes = 100'000;
    if (++nodes_ > most_nodes) {
      complain(place(mark), path(), "too many values", fmt::format("at most {}", most_nodes));
    }
    for (const ConfigNode& child : node.children) {
      count_nodes(mark, child);
    }
  }

  void add(const YAML::Mark& mark, YAML::anchor_t anchor, ConfigNode::Kind kind,
           const std::string& text) {
    if (expects_key()) {
      take_key(mark, kind, text);
      return;
    }
    ConfigNode node;
    node.kind = kind;
    node.text = text;
    remember(anchor, node);
    count_nodes(mark, node);
    add_node(mark, std::move(node));
  }

  void take_key(const YAML::Mark& mark, ConfigNode::Kind kind, const std::string& text) {
    if (kind != ConfigNode::Kind::scalar || text.empty()) {
      complain(place(mark), path(), "a key is missing before ':'", "key: value");
    }
    Open& map = open_.back();
    if (const ConfigNode* first = map.node.find(text)) {
      const std::string given =
          has_lines_ ? fmt::format("given twice, first on line {}", first->where.line)
                     : "given twice";
      complain(place(mark), joined_path(path(), text), given, "each key once");
    }
    map.has_key = true;
    map.key = text;
    map.key_where = place(mark);
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, ConfigNode::Kind kind) {
    if (expects_key()) {
      complain(place(mark), path(), "a list or map stands where a key belongs, or is not closed",
               "key: value");
    }
    Open opened;
    opened.node.kind = kind;
    opened.anchor = anchor;
    opened.mark = mark;
    open_.push_back(std::move(opened));
  }

  void close() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    remember(closed.anchor, closed.node);
    count_nodes(closed.mark, {});
    add_node(closed.mark, std::move(closed.node));
  }

  void remember(YAML::anchor_t anchor, const ConfigNode& node) {
    if (anchor != 0) {
      anchored_[anchor] = node;
    }
  }

  void add_node(const YAML::Mark& mark, ConfigNode node) {
    node.where = place(mark);
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.has_key) {
      node.key = std::exchange(parent.key, {});
      node.where = parent.key_where;
      parent.has_key = false;
    }
    parent.node.children.push_back(std::move(node));
  }

  const std::string& text_;
  std::string source_;
  bool has_lines_;
  std::size_t documents_ = 0;
  std::size_t nodes_ = 0;
  ConfigNode root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, ConfigNode> anchored_;
};

/// yaml-cpp takes some tabs for spaces and stumbles over others.
void refuse_tab_indentation(const std::string& text, const std::string& source) {
  std::istringstream lines(text);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos && line[first] == '\t') {
      complain({source, number}, "", "a tab in the indentation", "spaces");
    }
  }
}

}  // namespace

ConfigNode parse_yaml(const std::string& text, const std::string& source) {
  const bool has_lines = !source.starts_with("--set ");
  if (has_lines) {
    refuse_tab_indentation(text, source);
  }
  TreeBuilder builder(text, source, has_lines);
  std::istringstream stream(text);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    const std::size_t line = static_cast<std::size_t>(error.mark.line) + 1;
    complain({source, has_lines ? line : 0}, "", fmt::format("not YAML: {}", error.msg));
  }
  return builder.take_root();
}

}  // namespace qfs::config
