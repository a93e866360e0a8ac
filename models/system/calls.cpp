#include "system/calls.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

namespace qfs {
namespace {

/// Sets of operations that belong together, found by joining pairs.
class Groups {
 public:
  explicit Groups(std::size_t operations) : leader_(operations) {
    std::iota(leader_.begin(), leader_.end(), std::size_t{0});
  }
  std::size_t leader(OpId id) {
    std::size_t at = id.value();
    while (leader_[at] != at) {
      leader_[at] = leader_[leader_[at]];
      at = leader_[at];
    }
    return at;
  }
  void join(OpId a, OpId b) {
    const std::size_t from = leader(a);
    const std::size_t to = leader(b);
    leader_[std::max(from, to)] = std::min(from, to);
  }

 private:
  std::vector<std::size_t> leader_;
};

class CallBuilder {
 public:
  CallBuilder(Program& program, const Layout& layout)
      : program_(program),
        layout_(layout),
        groups_(program.graph.operations.size()),
        call_of_leader_(program.graph.operations.size(), in_none) {
    program_.call_of.assign(program.graph.operations.size(), in_none);
    program_.reply_of.assign(program.graph.operations.size(), in_none);
  }

  void build() {
    for (const Operation& operation : program_.graph.operations) {
      join_neighbours(operation);
    }
    for (const Operation& operation : program_.graph.operations) {
      if (layout_.called(operation)) {
        add_to_call(operation.id);
      }
    }
    for (const Call& call : program_.calls) {
      add_reply(replied(call));
    }
    for (const Operation& operation : program_.graph.operations) {
      if (layout_.called(operation)) {
        add_reply(sent_together(operation));
      }
    }
  }

 private:
  [[nodiscard]] bool called(OpId id) const { return layout_.called(program_.graph[id]); }

  /// All operations on the pool, in the step of `producer`, that read one value of it; and itself.
  void join_neighbours(const Operation& producer) {
    readers_.clear();
    for (const Consumer& consumer : program_.consumers[producer.id.value()]) {
      const Operation& reader = program_.graph[consumer.operation];
      if (!layout_.called(reader) || reader.step != producer.step) {
        continue;
      }
      const auto first = std::find_if(readers_.begin(), readers_.end(), [&](const Consumer& other) {
        return other.carried == consumer.carried;
      });
      if (first == readers_.end()) {
        readers_.push_back(consumer);
      } else {
        groups_.join(first->operation, reader.id);
      }
      if (layout_.called(producer)) {
        groups_.join(producer.id, reader.id);
      }
    }
  }

  void add_to_call(OpId id) {
    std::uint32_t& call = call_of_leader_[groups_.leader(id)];
    if (call == in_none) {
      call = static_cast<std::uint32_t>(program_.calls.size());
      program_.calls.emplace_back();
    }
    program_.calls[call].push_back(id);
    program_.call_of[id.value()] = call;
  }

  [[nodiscard]] bool needed_elsewhere(OpId id) const {
    const std::span<const Consumer> consumers = program_.consumers[id.value()];
    return std::any_of(consumers.begin(), consumers.end(),
                       [&](const Consumer& consumer) { return !called(consumer.operation); });
  }

  /// What a sweep waits for does not wait for the rest of a reply: the query, and the key of the
  /// current token where a calibrated unit weighs it.
  [[nodiscard]] bool goes_ahead(OpId id) const {
    const OpKind kind = program_.graph[id].kind;
    const std::span<const Consumer> consumers = program_.consumers[id.value()];
    const bool key_of_sweep =
        kind == OpKind::k && std::any_of(consumers.begin(), consumers.end(), [&](const auto& c) {
          return program_.graph[c.operation].kind == OpKind::values;
        });
    return kind == OpKind::q || key_of_sweep;
  }

  /// The results of a call that go back in one message; none if they must not wait.
  [[nodiscard]] Reply replied(const Call& call) const {
    Reply reply;
    for (const OpId id : call) {
      for (const Consumer& consumer : program_.consumers[id.value()]) {
        const Operation& reader = program_.graph[consumer.operation];
        if (reader.kind == OpKind::q && !layout_.called(reader)) {
          return {};
        }
      }
      if (!goes_ahead(id) && needed_elsewhere(id)) {
        reply.push_back(id);
      }
    }
    return reply;
  }

  /// What the cache side makes for this operation of the pool alone.
  [[nodiscard]] Reply sent_together(const Operation& reader) const {
    Reply reply;
    for (const Edge& edge : reader.inputs) {
      const bool alone = program_.consumers[edge.from.value()].size() == 1;
      if (alone && !called(edge.from) && program_.graph[edge.from].step == reader.step) {
        reply.push_back(edge.from);
      }
    }
    return reply;
  }

  void add_reply(const Reply& reply) {
    if (reply.size() < 2) {
      return;
    }
    for (const OpId id : reply) {
      program_.reply_of[id.value()] = static_cast<std::uint32_t>(program_.replies.size());
    }
    program_.replies.push_back(reply);
  }

  Program& program_;
  const Layout& layout_;
  Groups groups_;
  std::vector<Consumer> readers_;              // of one producer: the first of each value
  std::vector<std::uint32_t> call_of_leader_;  // by operation
};

}  // namespace

void add_calls(Program& program, const Layout& layout) {
  const auto& operations = program.graph.operations;
  if (std::any_of(operations.begin(), operations.end(),
                  [&](const Operation& operation) { return layout.called(operation); })) {
    CallBuilder(program, layout).build();
    program.pool_instances = layout.pool_instances();
  }
}

}  // namespace qfs
