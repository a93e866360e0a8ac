#include <cassert>

#include "kernels/forms/decode_forms.hpp"

namespace qfs {
namespace {

/// `size` neighbouring values.
template <class From, class To>
void copy_run(const From& from, std::size_t from_first, const To& to, std::size_t to_first,
              std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    to.store(to_first + i, from.load(from_first + i));
  }
}

/// Row `positions` of every slab of a cache of rows of `dim`.
template <class Rows, class Cache>
void write_rows(const FormShape& shape, std::size_t dim, const Rows& rows, const Cache& cache,
                std::size_t capacity) {
  for (std::size_t h = 0; h < shape.kv_heads; ++h) {
    copy_run(rows, h * dim, cache, (h * capacity + shape.positions) * dim, dim);
  }
}

template <class Old, class Grown>
void move_rows(const FormShape& shape, std::size_t dim, const Old& old, std::size_t old_capacity,
               const Grown& grown, std::size_t grown_capacity) {
  for (std::size_t h = 0; h < shape.kv_heads; ++h) {
    copy_run(old, h * old_capacity * dim, grown, h * grown_capacity * dim, shape.positions * dim);
  }
}

template <class Access>
void write(const Access& access, const FormShape& shape, const NewRows& rows,
           const CacheSpans<float>& cache) {
  write_rows(shape, shape.key_dim, access.bind(FormArray::new_k, rows.k),
             access.bind(FormArray::k, cache.k), cache.capacity);
  write_rows(shape, shape.value_dim, access.bind(FormArray::new_v, rows.v),
             access.bind(FormArray::v, cache.v), cache.capacity);
}

template <class Access>
void move(const Access& access, const FormShape& shape, const CacheSpans<const float>& old,
          const CacheSpans<float>& grown) {
  move_rows(shape, shape.key_dim, access.bind(FormArray::old_k, old.k), old.capacity,
            access.bind(FormArray::k, grown.k), grown.capacity);
  move_rows(shape, shape.value_dim, access.bind(FormArray::old_v, old.v), old.capacity,
            access.bind(FormArray::v, grown.v), grown.capacity);
}

}  // namespace

void append_in_place(const FormShape& shape, const NewRows& rows, const CacheSpans<float>& cache,
                     FormCounts* counts) {
  assert(rows.k.size() == shape.kv_heads * shape.key_dim);
  assert(rows.v.size() == shape.kv_heads * shape.value_dim);
  assert(cache.capacity > shape.positions);
  if (counts != nullptr) {
    write(Counting<FormCounts>{counts}, shape, rows, cache);
  } else {
    write(NotCounting{}, shape, rows, cache);
  }
}

void append_copying(const FormShape& shape, const NewRows& rows, const CacheSpans<const float>& old,
                    const CacheSpans<float>& grown, FormCounts* counts) {
  assert(shape.positions <= old.capacity && shape.positions < grown.capacity);
  if (counts != nullptr) {
    move(Counting<FormCounts>{counts}, shape, old, grown);
  } else {
    move(NotCounting{}, shape, old, grown);
  }
  append_in_place(shape, rows, grown, counts);
}

}  // namespace qfs
