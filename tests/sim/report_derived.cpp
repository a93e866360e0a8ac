#include "sim/report/derived.hpp"
#include "sim/report/intervals.hpp"
#include "sim/report/point_analysis.hpp"
#include "sim/report/steps.hpp"
#include "sim/report/text.hpp"
#include "tests/sim/report_support.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

TEST_CASE("steps follow each other and end with the LM head or the stack") {
  const auto steps = steps_of(two_steps());
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].start == at(0));
  CHECK(steps[0].stack_end == at(80));
  CHECK(steps[0].end == at(100));
  CHECK(steps[1].start == at(100));
  CHECK(steps[1].stack_length() == at(70));
  CHECK(steps[1].length() == at(70));
  CHECK(drained_at(two_steps()) == at(180));
  CHECK(steps_of(ExecutionTable{}).empty());
}

TEST_CASE("TPOT leaves out the first token, and tokens a second follow") {
  const auto steps = steps_of(two_steps());
  const DecodeSpeed speed = speed_of({steps, steps, steps});
  REQUIRE(speed.tpot);
  CHECK(speed.tpot->value() == Approx(70e-9));
  CHECK(speed.tokens_per_s_per_user == Approx(1 / 70e-9));
  CHECK(speed.tokens_per_s == Approx(3 / 70e-9));

  const DecodeSpeed mixed = speed_of({steps, {steps[0]}});
  CHECK(mixed.tpot == tpot_of(steps));  // the request of one token has none
  CHECK(mixed.tokens_per_s ==
        Approx(1 / tpot_of(steps)->value() + 1 / to_seconds(steps[0].length()).value()));
  const DecodeSpeed one = speed_of({{steps[0]}, {steps[0]}, {steps[0]}});
  CHECK_FALSE(one.tpot);
  CHECK(one.tokens_per_s_per_user == Approx(1 / 100e-9));
}

TEST_CASE("traffic is counted by place, for a step and for all") {
  const auto traffic = traffic_of(two_steps(), StepId(0));
  REQUIRE(traffic.size() == 4);
  CHECK(traffic[0].place == "compute_device");
  CHECK(traffic[0].work.weight_bytes == Bytes(4000));
  CHECK(traffic[0].work.activation_bytes == Bytes(70));
  CHECK(traffic[0].work.macs == Macs(500));
  CHECK(traffic[0].work.launches == 1);
  CHECK(traffic[1].place == "cache_device");
  CHECK(traffic[1].work.kv_read_bytes == Bytes(43000));
  CHECK(traffic[1].work.kv_written_bytes == Bytes(8));
  CHECK(traffic[2].is_link);
  CHECK(traffic[2].wire_bytes == Bytes(6));
  CHECK(traffic[2].messages == 2);

  const PlaceTraffic all = total_of(traffic_of(two_steps()));
  CHECK(all.wire_bytes == Bytes(2 + 4 + 3 + 2 + 3));
  CHECK(all.messages == 5);
}

TEST_CASE("a resource is in use while an operation, a write or a message on its port is") {
  const RunConfig config = hand_made_config();
  const ExecutionTable table = two_steps();
  const auto use = use_of(table, steps_of(table).at(0), config.link);
  REQUIRE(use.size() == 5);
  CHECK(use[compute].busy == at(50 + 2 + 8 + 20));
  CHECK(use[compute].share == Approx(0.8));
  CHECK(use[cache].busy == at(43));
  CHECK(use[cache_writes].busy == at(3));
  CHECK(use[to_cache].busy == at(2 + 4));
  CHECK(use[to_compute].busy == at(3));
}

TEST_CASE("the port is not in use for longer than the message is under way") {
  Row message;
  message.end = at(3);
  message.wire_bytes = Bytes(10);
  LinkConfig link;
  CHECK(port_time(message, link) == at(0));
  link.bandwidth = BytesPerSecond(1e9);
  CHECK(port_time(message, link) == at(3));
}

TEST_CASE("the two sides of a layer are means over the layers of the first step") {
  TableMaker make;
  make.operation(0, compute, OpKind::ffn, 0, 10);
  make.operation(0, compute, OpKind::ffn, 10, 30).layer = LayerId(1);
  make.operation(0, cache, OpKind::sweep, 0, 40);
  make.operation(0, cache, OpKind::sweep, 40, 60).layer = LayerId(1);
  make.message(0, to_cache, {ValueKind::q}, 0, 6);
  make.message(0, to_cache, {ValueKind::k, ValueKind::v}, 4, 10);  // shares 4..6 with q's
  make.message(0, to_compute, {ValueKind::partial}, 40, 47);
  make.operation(1, compute, OpKind::ffn, 60, 1000);
  const Places places(make.table(), layout_with(Arrangement::two_device));
  const LayerSides sides = sides_of(rows_of(make.table(), {RequestId(0), 1}), places);
  CHECK(sides.t_f.value() == Approx(15e-9));
  CHECK(sides.t_a.value() == Approx(30e-9));
  CHECK(sides.t_f2a.value() == Approx(10e-9));
  CHECK(sides.t_a2f.value() == Approx(7e-9));
  REQUIRE(sides.balance_ratio);
  CHECK(*sides.balance_ratio == Approx(2));
  CHECK_FALSE(sides_of({}, places).balance_ratio);
}

TEST_CASE("the bound of a step is its longest load at peak") {
  RunConfig config = hand_made_config();
  config.compute_device.bandwidth = BytesPerSecond(1e12);  // 4070 bytes: 4.07 units
  config.cache_device.bandwidth = BytesPerSecond(1e12);    // 43008 bytes: 43.008 units
  const ExecutionTable table = two_steps();
  const StepTime first = steps_of(table).at(0);
  const Places places(table, layout_with(Arrangement::two_device));
  const PeakLoad memory = bound_of(loads_of(table, first, config, places));
  CHECK(memory.resource == "cache_device memory");
  CHECK(memory.time.value() == Approx(43.008e-9));
  CHECK(memory.share == Approx(0.43008));

  config.compute_device.launch_overhead = Seconds(50e-9);
  CHECK(bound_of(loads_of(table, first, config, places)).resource == "compute_device launches");
  config.compute_device.mac_rate = MacsPerSecond(5e9);  // 500 MACs: 100 units
  CHECK(bound_of(loads_of(table, first, config, places)).resource == "compute_device compute");
  config.link.message_overhead = Seconds(60e-9);
  CHECK(bound_of(loads_of(table, first, config, places)).resource == "link.to_cache_device");
  CHECK(bound_of({}).resource.empty());
}

TEST_CASE("simulation and closed form agree within the tolerance, or not") {
  RunResult result = hand_made_result();
  CHECK(analyse(result).at(0).closed_form->agrees());
  result.points[0].analytic.step_times[0][1] = Seconds(70e-9 * (1 + 3e-6));
  const auto beyond = analyse(result).at(0).closed_form;
  CHECK_FALSE(beyond->agrees());
  CHECK(beyond->deviation == Approx(-3e-6).epsilon(1e-3));
  CHECK(beyond->expected());
  result.config.link.jitter = Seconds(1e-9);
  CHECK(analyse(result).at(0).closed_form->not_in_formula == "link jitter");
  result.config.arrangement = Arrangement::colocated;  // no link
  CHECK(analyse(result).at(0).closed_form->expected());
  result.config.numerics.inject.kind = FaultKind::drop_edge;
  CHECK(analyse(result).at(0).closed_form->not_in_formula == "the injected fault");
  CHECK(analyse(result).at(2).closed_form->expected());  // strikes at the main context only
  result.points[0].analytic = {};
  CHECK_FALSE(analyse(result).at(0).closed_form);
  result.points[0].table = {};
  CHECK_THROWS_AS(analyse(result), std::logic_error);
}

TEST_CASE("speeds are held against standard if it was run, else against the main block") {
  RunResult result = hand_made_result();
  CHECK(baseline_block(result.config) == BlockOrder::standard);
  result.config.compare = {BlockOrder::swapped};
  CHECK(baseline_block(result.config) == BlockOrder::early_q);
  const auto analyses = analyse(result);
  CHECK(same_context(analyses, analyses[0], BlockOrder::standard) == &analyses[1]);
  CHECK(same_context(analyses, analyses[3], BlockOrder::early_q) == &analyses[2]);
  CHECK(same_context(analyses, analyses[0], BlockOrder::swapped) == nullptr);
}

TEST_CASE("covered time counts what overlaps once and stays in the window") {
  CHECK(covered_time({{at(5), at(9)}, {at(0), at(6)}, {at(20), at(30)}, {at(7), at(8)}}) == at(19));
  CHECK(covered_time({{at(0), at(6)}, {at(20), at(30)}}, {at(4), at(22)}) == at(4));
  CHECK(covered_time({}) == at(0));
}

TEST_CASE("quantities as text") {
  CHECK(exact_microseconds(Femtoseconds(1'234'567'890'123)) == "1234.567890123");
  CHECK(exact_microseconds(Femtoseconds(1)) == "0.000000001");
  CHECK(exact_microseconds(Femtoseconds(-1'500'000'000)) == "-1.500000000");
  CHECK(grouped(std::int64_t{1234567}) == "1,234,567");
  CHECK(grouped(std::int64_t{-123}) == "-123");
  CHECK(grouped(8279.5556, 3) == "8,279.556");
  CHECK(grouped(999.9, 0) == "1,000");
  CHECK(microseconds_text(99999.9991) == "99,999.999");
  CHECK(microseconds_text(1234567.89) == "1,234,567.9");
  CHECK(microseconds_text(12345678.9) == "12,345,679");
  CHECK(context_text(1023) == "1,023");
  CHECK(context_text(4096) == "4 Ki");
  CHECK(context_text(4608) == "4,608");
  CHECK(context_text(1048576) == "1 Mi");
  CHECK(context_text(1048576 + 1024) == "1025 Ki");
  CHECK(rate_text(4.8e12, "B/s") == "4.8 TB/s");
  CHECK(rate_text(unlimited, "B/s") == "unlimited");
  CHECK(deviation_text(1e-16) == "0");
  CHECK(deviation_text(-2e-7) == "-2.0e-07");
  CHECK(deviation_text(4e7) == "+4.0e+07");
  CHECK(deviation_text(0.031) == "+3.10 %");
  CHECK(counted(1, "layer") == "1 layer");
  CHECK(counted(0, "layer") == "0 layers");
  CHECK(counted(2000, "KV head") == "2,000 KV heads");
}

TEST_CASE("a sentence is broken between words at 100 columns") {
  CHECK(paragraph("one two") == "  one two\n");
  const std::string word(98, 'x');
  CHECK(paragraph(word) == "  " + word + "\n");
  CHECK(paragraph(word + " two") == "  " + word + "\n    two\n");
  const std::string shorter(94, 'x');
  CHECK(paragraph(shorter + " two") == "  " + shorter + " two\n");
  CHECK(paragraph(shorter + " three") == "  " + shorter + "\n    three\n");
}
