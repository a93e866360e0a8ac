#include "analysis/step_graph.hpp"

#include <cassert>
#include <functional>
#include <map>
#include <utility>

#include "analysis/block_reads.hpp"
#include "analysis/delivery.hpp"
#include "analysis/operation_costs.hpp"
#include "analysis/shard_rows.hpp"

namespace qfs {
namespace {

using Device = Topology::Device;
using Operation = AnalyticOperation;
using Rank = Topology::Rank;
using Task = ListSchedule::Task;
using Tasks = ListSchedule::Tasks;
using Value = AnalyticValue;

/// The residual stream between two layers.
struct Stream {
  Value* now;
  Value* before_ffn;
  Value* network_input;
};

struct Projected {
  Value* q;
  std::vector<Value*> kv;  // one of both, or k and v
  bool fused = false;      // all of one operation
};

class Builder {
 public:
  explicit Builder(StepGraph& graph)
      : graph_(graph),
        parameters_(graph.parameters),
        schedule_(graph.schedule),
        topology_(graph.topology),
        costs_(parameters_),
        shard_costs_(AnalyticCosts::of_shard(parameters_)),
        reads_(block_reads(parameters_.block)),
        rows_(parameters_, 0),
        delivery_(graph.schedule, graph.topology) {}

  void add_wave(std::size_t wave) {
    wave_ = wave;
    rows_ = ShardRows(parameters_, wave);
    appends_.clear();
    graph_.ends.emplace_back();
    std::vector<Value*> inputs;
    for (step_ = 0; step_ < parameters_.tokens; ++step_) {
      inputs = add_token(inputs);
      rows_.end_step();
    }
  }

 private:
  /// What the next token waits for.
  std::vector<Value*> add_token(const std::vector<Value*>& inputs) {
    layer_ = 0;
    Value& input = embed(inputs);
    Stream stream{&input, &input, &input};
    for (; layer_ < parameters_.shape.layers; ++layer_) {
      stream = add_layer(stream);
    }
    Tasks ends = made(*stream.now);
    if (wave_ == 0 && step_ == 0) {
      graph_.first_outputs = ends;
    }
    std::vector<Value*> next;
    if (parameters_.lm_head) {
      next = add_lm_heads(*stream.now);
      ends.clear();
      for (const Value* token : next) {
        ends.push_back(token->there.at(token->made_on));
      }
    } else {
      Value& order = delivery_.make(stream.now->made_on, Bytes(0));
      order.there = stream.now->there;
      next = {&order};
    }
    graph_.ends.back().push_back(ends);
    return next;
  }

  Value& embed(const std::vector<Value*>& inputs) {
    Value& x = delivery_.make(topology_.ranks.front().home(), costs_.residual_message());
    for (const Rank& rank : topology_.ranks) {
      x.there[rank.home()] =
          add_instant(Operation::embed, rank, delivery_.all_at(inputs, rank.home()));
    }
    return x;
  }

  std::vector<Value*> add_lm_heads(Value& output) {
    std::vector<Value*> tokens;
    for (const Rank& rank : topology_.ranks) {
      tokens.push_back(
          &produce(Operation::lm_head, rank, costs_.lm_head(), output, costs_.token_message()));
    }
    return tokens;
  }

  Stream add_layer(const Stream& x) {
    if (reads_.ffn_first) {
      Value& z = add_ffn(*x.now);
      return {&add_attention(x, &z, z), x.now, x.network_input};
    }
    Value& y = add_attention(x, nullptr, *x.now);
    return {&add_ffn(y), &y, x.network_input};
  }

  Value& add_ffn(Value& input) {
    return join_stream(Operation::ffn, costs_.ffn(), input, [&](const Rank& rank) {
      return Tasks{delivery_.at(input, rank.device(Operation::ffn))};
    });
  }

  /// The attention's output added to the stream as it is at `residual`; z: after this layer's ffn,
  /// if that comes first.
  Value& add_attention(const Stream& x, Value* z, Value& residual) {
    const auto point = [&](ReadPoint read) -> Value& {
      switch (point_in_layer(read, layer_)) {
        case ReadPoint::after_ffn:
          return *z;
        case ReadPoint::before_ffn:
          return *x.before_ffn;
        case ReadPoint::network_input:
          return *x.network_input;
        case ReadPoint::input:
          break;
      }
      return *x.now;
    };
    return join_stream(Operation::o, costs_.o(), residual, [&](const Rank& rank) {
      Projected projected = project(rank, point(reads_.q), point(reads_.k), point(reads_.v));
      reply_together(rank, projected, residual);
      return operands_of_o(rank, attend(rank, projected), residual);
    });
  }

  /// An operation that adds to the stream. Several ranks make partial sums, and each reduces all.
  Value& join_stream(Operation operation, const AnalyticCost& cost, Value& residual,
                     const std::function<Tasks(const Rank&)>& operands) {
    const bool one = topology_.ranks.size() == 1;
    std::vector<Value*> sums;
    for (const Rank& rank : topology_.ranks) {
      const Task task = add(operation, rank, cost, operands(rank));
      sums.push_back(&delivery_.make(rank.device(operation), costs_.residual_message(), task));
    }
    if (one) {
      return *sums.front();
    }
    Value& sum = delivery_.make(topology_.ranks.front().home(), costs_.residual_message());
    for (const Rank& rank : topology_.ranks) {
      Tasks terms = delivery_.all_at(sums, rank.home());
      terms.push_back(delivery_.at(residual, rank.home()));
      sum.there[rank.home()] = add(Operation::reduce, rank, costs_.reduce(), terms);
    }
    return sum;
  }

  Projected project(const Rank& rank, Value& q_from, Value& k_from, Value& v_from) {
    if (topology_.fuses_qkv && costs_.fused_qkv(layer_)) {
      Value& q = produce(Operation::qkv, rank, costs_.qkv(), q_from, costs_.q_message());
      return {&q, {&delivery_.make(q.made_on, costs_.kv_message(), q.there.at(q.made_on))}, true};
    }
    Value& q = produce(Operation::q, rank, costs_.q(), q_from, costs_.q_message());
    if (kv_together(reads_)) {
      return {&q, {&produce(Operation::kv, rank, costs_.kv(), k_from, costs_.kv_message())}};
    }
    Value& k = produce(Operation::k, rank, costs_.k_or_v(), k_from, costs_.k_or_v_message());
    return {&q,
            {&k, &produce(Operation::v, rank, costs_.k_or_v(), v_from, costs_.k_or_v_message())}};
  }

  /// Where no q beside the cache waits for the pool's ffn, the pool replies once: k, v and, if it
  /// made it, the residual. A q of the pool's own has gone ahead.
  void reply_together(const Rank& rank, Projected& projected, Value& residual) {
    const Device pool = projected.kv.front()->made_on;
    const Device home = rank.home();
    if (pool == home || (projected.q->made_on == home && q_reads_ffn(reads_))) {
      return;
    }
    std::vector<Value*> values = projected.kv;
    if (residual.made_on == pool) {
      values.push_back(&residual);
    }
    projected.kv = {
        &delivery_.make(home, costs_.kv_message(), delivery_.send_together(values, home))};
  }

  /// The sweeps of all shards and their merge.
  Value& attend(const Rank& rank, const Projected& projected) {
    std::vector<Value*> operands;
    for (std::size_t shard = 0; shard < rank.shards.size(); ++shard) {
      operands.push_back(&sweep(rank, shard, projected));
    }
    if (own_token_first() && operands.size() == 1) {
      return *operands.front();
    }
    if (!own_token_first()) {
      operands.push_back(projected.q);
      operands.insert(operands.end(), projected.kv.begin(), projected.kv.end());
    }
    const Task merge = add_instant(Operation::merge, rank, delivery_.all_at(operands, rank.home()));
    return delivery_.make(rank.home(), costs_.q_message(), merge);
  }

  /// One shard's append, if it takes any, and sweep, of which the result is returned. A sweep waits
  /// for the last append of each request before it.
  Value& sweep(const Rank& rank, std::size_t shard, const Projected& projected) {
    const Device device = rank.shards[shard];
    const std::vector<std::size_t> takers = rows_.takers(shard);
    if (projected.fused && device != projected.q->made_on) {  // k and v for those who need them
      const Bytes bytes = shard_costs_.q_message() + shard_costs_.kv_message(takers.size());
      delivery_.send_together({projected.q, projected.kv.front()}, device, bytes);
    }
    Tasks waits{delivery_.at(*projected.q, device, shard_costs_.q_message())};
    std::map<std::size_t, Task>& appended = appends_[{layer_, device}];
    const std::map<std::size_t, Task> appended_before = appended;
    if (!takers.empty()) {
      const Task append = add_append(device, shard, takers, projected.kv);
      for (const std::size_t member : takers) {
        appended[member] = append;
      }
    }
    for (const auto& [member, append] : own_token_first() ? appended : appended_before) {
      waits.push_back(append);
    }
    const AnalyticCost cost =
        shard_costs_.sweep(own_token_first() ? rows_.after(shard) : rows_.before(shard));
    const Task task = schedule_.add_operation(device, cost, turn(Operation::sweep), waits);
    return delivery_.make(device, shard_costs_.partial_message(), task);
  }

  Task add_append(Device device, std::size_t shard, const std::vector<std::size_t>& takers,
                  const std::vector<Value*>& kv) {
    const std::size_t members = takers.size();
    const Bytes bytes =
        kv.size() == 1 ? shard_costs_.kv_message(members) : shard_costs_.k_or_v_message(members);
    Tasks waits;
    for (Value* value : kv) {
      waits.push_back(delivery_.at(*value, device, bytes));
    }
    std::vector<std::size_t> rows;
    rows.reserve(members);
    for (const std::size_t member : takers) {
      rows.push_back(rows_.before(shard)[member]);
    }
    return schedule_.add_write(device, shard_costs_.append(rows), step_, waits);
  }

  /// One rank of several adds no residual. A pool that has it not kept gets it back with the
  /// attention's output.
  Tasks operands_of_o(const Rank& rank, Value& attention, Value& residual) {
    const Device device = rank.device(Operation::o);
    if (topology_.ranks.size() > 1) {
      return {delivery_.at(attention, device)};
    }
    if (device == rank.home()) {
      return {delivery_.at(attention, device), delivery_.at(residual, device)};
    }
    const Task hold = add_instant(Operation::hold, rank, {delivery_.at(residual, rank.home())});
    Value& held = delivery_.make(rank.home(), residual.bytes, hold);
    return {delivery_.send_together({&attention, &held}, device)};
  }

  Value& produce(Operation operation, const Rank& rank, const AnalyticCost& cost, Value& from,
                 Bytes bytes) {
    const Device device = rank.device(operation);
    return delivery_.make(device, bytes, add(operation, rank, cost, {delivery_.at(from, device)}));
  }

  Task add(Operation operation, const Rank& rank, const AnalyticCost& cost, const Tasks& waits) {
    return schedule_.add_operation(rank.device(operation), cost, turn(operation), waits);
  }

  /// What belongs to somebody else's launch, or is nothing but a place.
  Task add_instant(Operation operation, const Rank& rank, const Tasks& waits) {
    return schedule_.add_instant(rank.device(operation), turn(operation), waits);
  }

  /// The tasks that make a value, one a rank.
  [[nodiscard]] static Tasks made(const Value& value) {
    Tasks tasks;
    for (const auto& [device, task] : value.there) {
      tasks.push_back(task);
    }
    return tasks;
  }

  [[nodiscard]] ListSchedule::Turn turn(Operation operation) const {
    const std::size_t layers = parameters_.shape.layers + 1;  // the LM head after the last
    std::size_t order = step_ * layers + layer_;
    order = order * analytic_operations + static_cast<std::size_t>(operation);
    return {step_, order * parameters_.in_flight + wave_};
  }

  [[nodiscard]] bool own_token_first() const {
    return parameters_.current_token == CurrentToken::append_first;
  }

  StepGraph& graph_;
  const AnalyticParameters& parameters_;
  ListSchedule& schedule_;
  const Topology& topology_;
  AnalyticCosts costs_;
  AnalyticCosts shard_costs_;
  BlockReads reads_;
  ShardRows rows_;
  Delivery delivery_;
  /// By layer and device, of each member of the wave that ever appended there: the last time.
  std::map<std::pair<std::size_t, Device>, std::map<std::size_t, Task>> appends_;
  std::size_t wave_ = 0;
  std::size_t step_ = 0;
  std::size_t layer_ = 0;
};

/// Splits, ranks and pools are not for every arrangement.
AnalyticParameters used(AnalyticArrangement arrangement, AnalyticParameters parameters) {
  const bool pooled = arrangement == AnalyticArrangement::pooled;
  if (!pooled && arrangement != AnalyticArrangement::two_device) {
    parameters.split = {};
  }
  if (arrangement != AnalyticArrangement::tensor_parallel) {
    parameters.ranks = 1;
  }
  parameters.pooled_projections = pooled && parameters.pooled_projections;
  return parameters;
}

}  // namespace

StepGraph step_graph(AnalyticArrangement arrangement, const AnalyticParameters& parameters) {
  assert(parameters.tokens >= 1 && parameters.batch >= 1 && parameters.in_flight >= 1);
  assert(parameters.split.devices >= 1);
  assert(arrangement != AnalyticArrangement::tensor_parallel || parameters.ranks >= 2);
  StepGraph graph{used(arrangement, parameters), {}, {}, {}, {}};
  graph.topology = add_topology(arrangement, graph.parameters, graph.schedule);
  Builder builder(graph);
  for (std::size_t wave = 0; wave < parameters.in_flight; ++wave) {
    builder.add_wave(wave);
  }
  return graph;
}

}  // namespace qfs
