#include "sim/report/places.hpp"

#include <algorithm>

namespace qfs {
namespace {

template <class Role>
const Role* named(const std::vector<Role>& roles, const std::string& name) {
  const auto found =
      std::find_if(roles.begin(), roles.end(), [&](const Role& role) { return role.name == name; });
  return found == roles.end() ? nullptr : &*found;
}

}  // namespace

std::string place_of(const Resource& resource) {
  const bool port = resource.kind == ResourceKind::link;
  return port ? resource.name : resource.name.substr(0, resource.name.find('.'));
}

Places::Places(const ExecutionTable& table, const Layout& layout)
    : sides_(table.resources.size()), directions_(table.resources.size()) {
  for (std::size_t i = 0; i < table.resources.size(); ++i) {
    const std::string place = place_of(table.resources[i]);
    if (const DeviceRole* device = named(layout.devices(), place)) {
      sides_[i] = device->side;
    } else if (const PortRole* port = named(layout.ports(), place)) {
      directions_[i] = Direction{layout.devices()[port->from.front().value()].side,
                                 layout.devices()[port->to.front().value()].side};
    }
  }
}

bool Places::leads(std::size_t resource, DeviceSide from, DeviceSide to) const {
  const std::optional<Direction>& direction = directions_[resource];
  return direction && direction->from == from && direction->to == to;
}

}  // namespace qfs
