"""Arrays. Places count from 1, but for ``get``.

Written by scripts/functions.py from the table in waterclock/expr/functions.
"""

from __future__ import annotations

from waterclock.expr.nodes import Expr, call


def array(first: object, *more: object) -> Expr:
    """The values as an array.

    Example: ``array(1, 2) = array(1, 2)``
    """
    return call("array", first, *more)


def size(array: object) -> Expr:
    """How many elements; -1 for null.

    Example: ``size(array(1, 2)) = 2``
    """
    return call("size", array)


def array_size(array: object) -> Expr:
    """How many elements.

    Example: ``array_size(array(1, 2)) = 2``
    """
    return call("array_size", array)


def element_at(array: object, place: object) -> Expr:
    """The element at a place, from the end if negative; null if there is none.

    Example: ``element_at(array(1, 2), -1) = 2``
    """
    return call("element_at", array, place)


def get(array: object, index: object) -> Expr:
    """The element at an index from 0; null if there is none.

    Example: ``get(array(1, 2), 0) = 1``
    """
    return call("get", array, index)


def array_contains(array: object, value: object) -> Expr:
    """Whether an element is the value; null if none is but one is null.

    Example: ``array_contains(array(1, 2), 2) = true``
    """
    return call("array_contains", array, value)


def array_position(array: object, value: object) -> Expr:
    """The place of the first element that is the value, 0 if there is none.

    Example: ``array_position(array(1, 2), 2) = 2``
    """
    return call("array_position", array, value)


def array_remove(array: object, value: object) -> Expr:
    """Without the elements that are the value.

    Example: ``array_remove(array(1, 2, 1), 1) = array(2)``
    """
    return call("array_remove", array, value)


def array_append(array: object, value: object) -> Expr:
    """With the value behind the last.

    Example: ``array_append(array(1), 2) = array(1, 2)``
    """
    return call("array_append", array, value)


def array_prepend(array: object, value: object) -> Expr:
    """With the value before the first.

    Example: ``array_prepend(array(1), 2) = array(2, 1)``
    """
    return call("array_prepend", array, value)


def array_compact(array: object) -> Expr:
    """Without nulls.

    Example: ``array_compact(array(1, NULL)) = array(1)``
    """
    return call("array_compact", array)


def array_distinct(array: object) -> Expr:
    """Each element once, in the order in which they come.

    Example: ``array_distinct(array(2, 1, 2)) = array(2, 1)``
    """
    return call("array_distinct", array)


def array_union(left: object, right: object) -> Expr:
    """The elements of both, each once.

    Example: ``array_union(array(1, 2), array(2, 3)) = array(1, 2, 3)``
    """
    return call("array_union", left, right)


def array_intersect(left: object, right: object) -> Expr:
    """The elements that both have, each once.

    Example: ``array_intersect(array(1, 2), array(2, 3)) = array(2)``
    """
    return call("array_intersect", left, right)


def array_except(left: object, right: object) -> Expr:
    """The elements that only the left has, each once.

    Example: ``array_except(array(1, 2), array(2, 3)) = array(1)``
    """
    return call("array_except", left, right)


def arrays_overlap(left: object, right: object) -> Expr:
    """Whether both have an element in common; null if that depends on a null.

    Example: ``arrays_overlap(array(1, 2), array(2, 3)) = true``
    """
    return call("arrays_overlap", left, right)


def array_join(array: object, separator: object, null: str | None = None) -> Expr:
    """The elements as one text; nulls are left out, or written as said.

    Example: ``array_join(array('a', NULL, 'b'), '-') = 'a-b'``
    """
    return call("array_join", array, separator) if null is None else call("array_join", array, separator, null)


def array_max(array: object) -> Expr:
    """The greatest element.

    Example: ``array_max(array(1, 3, 2)) = 3``
    """
    return call("array_max", array)


def array_min(array: object) -> Expr:
    """The least element.

    Example: ``array_min(array(2, 1)) = 1``
    """
    return call("array_min", array)


def array_repeat(value: object, count: object) -> Expr:
    """The value so many times.

    Example: ``array_repeat('a', 2) = array('a', 'a')``
    """
    return call("array_repeat", value, count)


def array_sort(array: object) -> Expr:
    """In order, nulls last.

    Example: ``array_sort(array(2, NULL, 1)) = array(1, 2, NULL)``
    """
    return call("array_sort", array)


def sort_array(array: object, ascending: bool = True) -> Expr:
    """In order, nulls first; or in reverse order, nulls last.

    Example: ``sort_array(array(2, NULL, 1)) = array(NULL, 1, 2)``
    """
    return call("sort_array", array, ascending)


def slice(array: object, start: object, count: object) -> Expr:
    """So many elements from a place on, which counts from the end if negative.

    Example: ``slice(array(1, 2, 3), 2, 2) = array(2, 3)``
    """
    return call("slice", array, start, count)


def flatten(array: object) -> Expr:
    """The elements of the elements; null if one of them is null.

    Example: ``flatten(array(array(1), array(2, 3))) = array(1, 2, 3)``
    """
    return call("flatten", array)


def sequence(start: object, stop: object) -> Expr:
    """The whole numbers from start to stop, rising or falling.

    Example: ``sequence(3, 1) = array(3, 2, 1)``
    """
    return call("sequence", start, stop)


cardinality = size
