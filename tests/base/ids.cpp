#include "base/ids.hpp"

#include <type_traits>
#include <unordered_map>

#include "tests/support/catch.hpp"

using namespace qfs;

namespace {

template <class A, class B>
constexpr bool can_compare = requires(A a, B b) {
  a == b;
};

static_assert(!std::is_convertible_v<int, LayerId>);
static_assert(!std::is_convertible_v<std::size_t, LayerId>);
static_assert(!std::is_convertible_v<LayerId, std::size_t>);
static_assert(!std::is_constructible_v<LayerId, RequestId>);
static_assert(!std::is_convertible_v<LayerId, RequestId>);
static_assert(can_compare<LayerId, LayerId>);
static_assert(!can_compare<LayerId, StepId>);
static_assert(!can_compare<LayerId, int>);

}  // namespace

TEST_CASE("indexes count and compare") {
  LayerId layer;
  CHECK(layer.value() == 0);
  CHECK((++layer).value() == 1);
  CHECK(layer == LayerId(1));
  CHECK(layer < LayerId(2));
  CHECK(RequestId(4'294'967'295).value() == 4'294'967'295);
}

TEST_CASE("indexes are keys of hashed maps") {
  std::unordered_map<OpId, int> map;
  map[OpId(7)] = 1;
  map[OpId(8)] = 2;
  map[OpId(7)] += 10;
  CHECK(map.size() == 2);
  CHECK(map.at(OpId(7)) == 11);
}
