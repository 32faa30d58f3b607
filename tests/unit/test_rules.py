"""Each rule of the optimizer: what it makes of a plan, and where it keeps its hands off."""

from __future__ import annotations

import re
from textwrap import dedent

import pytest

import waterclock as wc
from waterclock import functions
from waterclock.errors import RunError
from waterclock.expr.nodes import Expr, coalesce, col, end, lit, start, when
from waterclock.optimizer import RULES, Rule, optimize, steps
from waterclock.plan import (
    Aggregate,
    AsOf,
    Chop,
    ClipDuration,
    Distinct,
    Elements,
    Explode,
    Extend,
    Filter,
    Input,
    Join,
    Node,
    PointAtEnd,
    Project,
    SessionLifetime,
    SetDuration,
    Shift,
    SnapshotAggregate,
    Stitch,
    TopK,
    Union,
    WindowAggregate,
    explain,
)
from waterclock.plan.rebuild import bottom_up, top_down, with_inputs
from waterclock.plan.window import Window
from waterclock.schema import Schema
from waterclock.time import FOREVER
from waterclock.usercode import Code
from waterclock.usercode.elements import ElementCode

SCHEMA = Schema.of({"k": "string", "x": "int", "y": "double", "ts": "array<int>"})
POINTS = Input("p", SCHEMA, of_points=True)
SPANS = Input("s", SCHEMA, of_points=False)
OPEN = Input("o", SCHEMA, of_points=False, may_be_open=True)
OTHER = Input("q", Schema.of({"k": "string", "z": "int", "w": "double"}), of_points=False)
TABLE = Input("t", Schema.of({"id": "int", "name": "string"}), of_points=False, static=True)
NAMES = (("k", "k2"), ("z", "z"), ("w", "w"))
COUNT = (("n", Aggregate("count")), ("m", Aggregate("max", col("x"))))
LENGTH = Window(10, 10)


@wc.function(returns="boolean")
def odd(values):  # type: ignore[no-untyped-def]
    return values % 2 == 1


def twice(row):  # type: ignore[no-untyped-def]
    return 2 * row.x


def rule(name: str) -> Rule:
    return next(one for one in RULES if one.name == name)


def becomes(name: str, plan: Node, text: str) -> None:
    """The plan after one rule, without the lines of its inputs' columns."""
    made = optimize(plan, [rule(name)])
    shown = re.sub(r"((?:stream|table) \w+) .*", r"\1", explain(made))
    assert shown == dedent(text).strip()


def stays(name: str, plan: Node) -> None:
    assert rule(name).rewrite(plan).identity == plan.identity, explain(rule(name).rewrite(plan))


def joined(kind: str, residual: Expr | None = None) -> Join:
    return Join(kind, SPANS, OTHER, ("k",), ("k",), NAMES, residual)


# -- the machinery -----------------------------------------------------------------------------------------


def test_nothing_changed_is_the_same_object() -> None:
    plan = Union((Filter(POINTS, col("x") > 1), joined("semi")))
    assert with_inputs(plan, plan.inputs) is plan
    assert bottom_up(plan, lambda node: node) is plan
    assert top_down(plan, lambda node: node) is plan
    other = with_inputs(plan.branches[1], (POINTS, OTHER))
    assert isinstance(other, Join)
    assert other.left is POINTS


def test_a_node_that_is_used_twice_is_changed_once() -> None:
    seen: list[Node] = []
    below = Distinct(SPANS)
    bottom_up(Union((below, below)), lambda node: seen.append(node) or node)  # type: ignore[func-returns-value]
    assert len(seen) == 3


def test_steps_name_the_rules_that_did_something() -> None:
    plan = Filter(Project(SPANS, (("k", col("k")), ("x", col("x")))), (lit(1) + 1 == 2) & (col("x") > 1))
    names = [name for name, _ in steps(plan)]
    assert names == ["fold_constants", "push_filters"]
    assert steps(plan)[-1][1].identity == optimize(plan).identity
    assert steps(optimize(plan)) == []


def test_a_rule_that_changes_the_columns_is_found() -> None:
    wrong = Rule("wrong", "", lambda root: root.inputs[0])
    with pytest.raises(RunError, match=r"PLAN.RULE_BROKEN.*'wrong'.*it made \(k string"):
        optimize(Project(SPANS, (("x", col("x")),)), [wrong])


def test_a_rule_that_makes_an_impossible_plan_is_found() -> None:
    wrong = Rule("wrong", "", lambda root: Filter(root, col("nothing") > 1))
    with pytest.raises(RunError, match=r"'wrong'.*no column 'nothing'"):
        optimize(SPANS, [wrong])


def test_every_rule_says_why() -> None:
    assert len({one.name for one in RULES}) == len(RULES)
    assert all(one.why.endswith(".") and "\n" not in one.why for one in RULES)


# -- constants ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        (col("x") + (lit(2) * 3 + 1), "(x + 7)"),
        (lit("a").upper(), "'A'"),
        (lit("5").cast("bigint"), "cast(5 as bigint)"),  # a bare 5 would be an int
        (lit(7) / 2, "3.5"),
        (lit(1) / 0, "cast(None as double)"),
        ((lit(1) > 2) | (col("x") > 1), "(x > 1)"),
        ((lit(2) > 1) | (col("x") > 1), "True"),
        ((col("x") > 1) & (lit(2) > 1), "(x > 1)"),
        ((col("x") > 1) & (lit(1) > 2), "False"),
        (coalesce(lit(None), col("x")), "coalesce(None, x)"),
    ],
    ids=repr,
)
def test_constants_are_folded(written: Expr, folded: str) -> None:
    made = rule("fold_constants").rewrite(Project(SPANS, (("c", written),)))
    assert isinstance(made, Project)
    assert repr(made.columns[0][1]) == folded
    assert made.schema.type_of("c") == written.type_in(SCHEMA)


@pytest.mark.parametrize(
    "expr",
    [
        -lit(5),  # part of the constant
        functions.exp(lit(2)),  # approximate: the last digits are the machine's
        lit(False) & odd(col("x")),  # what user code says must not be passed over
        start().unix_micros() + 1,
        col("x") + 1 + 1,
    ],
    ids=repr,
)
def test_not_folded(expr: Expr) -> None:
    stays("fold_constants", Project(SPANS, (("c", expr),)))


def test_filters_that_keep_everything_go() -> None:
    becomes("fold_constants", Filter(SPANS, lit(1) < 2), "stream s")
    becomes("fold_constants", Filter(SPANS, lit(1) > 2), "filter False\n  stream s")
    becomes("fold_constants", joined("left", lit(1) < 2), "left join on k == k (k as k2)\n  stream s\n  stream q")


# -- filters -----------------------------------------------------------------------------------------------

X, K, TIME = col("x") > 1, col("k") == "a", start().unix_micros() > 5


def test_filters_go_through_projects() -> None:
    plan = Filter(Project(SPANS, (("k", col("k")), ("z", col("x") + 1))), (col("z") > 1) & K)
    becomes("push_filters", plan, """
        project k, (x + 1) as z
          filter (((x + 1) > 1) & (k == 'a'))
            stream s
    """)  # fmt: skip


def test_what_is_costly_is_not_computed_twice_for_a_filter() -> None:
    stays("push_filters", Filter(Project(SPANS, (("z", col("k").rlike("a+b")),)), col("z")))
    stays("push_filters", Filter(Project(SPANS, (("z", odd(col("x"))),)), col("z")))


def test_filters_go_through_unions_lifetimes_and_explode() -> None:
    plan = Filter(Union((Shift(SPANS, 5), Explode(POINTS, "x", col("ts")))), K & TIME)
    becomes("push_filters", plan, """
        union
          filter (unix_micros(start()) > 5)
            shift 5us
              filter (k == 'a')
                stream s
          filter (unix_micros(start()) > 5)
            explode ts as x
              filter (k == 'a')
                stream p
    """)  # fmt: skip
    stays("push_filters", Filter(Explode(POINTS, "x", col("ts")), X))
    stays("push_filters", Filter(SetDuration(POINTS, 5), end().is_null()))


@pytest.mark.parametrize("made", [Distinct(SPANS), Stitch(SPANS), Chop(SPANS, 5)], ids=lambda node: node.label)
def test_any_column_passes_what_keeps_payloads(made: Node) -> None:
    becomes("push_filters", Filter(made, X), f"{made.label}\n  filter (x > 1)\n    stream s")


GROUPED = [
    WindowAggregate(SPANS, ("k",), COUNT, LENGTH),
    SnapshotAggregate(OPEN, ("k",), COUNT),
    TopK(SPANS, ("k",), col("x"), 3),
    SessionLifetime(SPANS, ("k",), 5),
]


@pytest.mark.parametrize("made", GROUPED, ids=lambda node: node.label)
def test_keys_pass_what_groups(made: Node) -> None:
    source = made.inputs[0].label.partition(" (k ")[0]
    becomes("push_filters", Filter(made, K), f"{made.label}\n  filter (k == 'a')\n    {source}")
    rest = col(made.schema.names[-1]).is_not_null()
    stays("push_filters", Filter(made, rest))
    stays("push_filters", Filter(made, TIME))


@pytest.mark.parametrize(
    "made",
    [
        WindowAggregate(OPEN, ("k",), COUNT, LENGTH),  # how far its windows go depends on all events
        TopK(OPEN, ("k",), col("x"), 3, window=LENGTH),
        Chop(OPEN, 5),
        WindowAggregate(SPANS, ("k",), COUNT, LENGTH, early=5),
    ],
    ids=lambda node: node.label,
)
def test_what_looks_at_all_events_stops_filters(made: Node) -> None:
    stays("push_filters", Filter(made, K))


def test_groups_do_not_tell_zeros_apart() -> None:
    made = WindowAggregate(SPANS, ("y",), COUNT, LENGTH)
    stays("push_filters", Filter(made, col("y").cast("string") == "0.0"))
    becomes("push_filters", Filter(made, col("y") > 1), f"{made.label}\n  filter (y > 1)\n    stream s")


def test_a_part_that_is_used_twice_stays_one() -> None:
    shared = Distinct(SPANS)
    stays("push_filters", Union((Filter(shared, X), Filter(shared, K))))
    behind = Shift(shared, 1)
    plan = optimize(Union((Filter(behind, X), Filter(behind, K))), [rule("push_filters")])
    assert explain(plan).count("distinct\n    " + "  " * 2 + "stream") == 2


def test_inner_joins_take_filters_on_both_sides() -> None:
    plan = Filter(joined("inner"), X & (col("z") > 2) & (col("x") < col("z")) & TIME)
    becomes("push_filters", plan, """
        filter (unix_micros(start()) > 5)
          inner join on k == k where (x < z) (k as k2)
            filter (x > 1)
              stream s
            filter (z > 2)
              stream q
    """)  # fmt: skip


@pytest.mark.parametrize("kind", ["inner", "left", "semi", "anti", "clip"])
def test_a_filter_on_keys_holds_for_both_sides(kind: str) -> None:
    becomes("push_filters", Filter(joined(kind), K), f"""
        {kind} join on k == k (k as k2)
          filter (k == 'a')
            stream s
          filter (k == 'a')
            stream q
    """)  # fmt: skip


def test_outer_joins_keep_filters_on_the_side_that_may_be_null() -> None:
    stays("push_filters", Filter(joined("left"), col("z").is_null()))
    for condition in (X, col("z") > 2, K):
        stays("push_filters", Filter(joined("full"), condition))


def test_conditions_of_joins_go_to_their_sides() -> None:
    condition = X & (col("z") > 2) & (col("x") < col("z"))
    for kind, left, right in (("semi", 1, 1), ("left", 0, 1), ("anti", 0, 1), ("clip", 0, 1), ("full", 0, 0)):
        made = rule("push_filters").rewrite(joined(kind, condition))
        assert isinstance(made, Join)
        assert [isinstance(side, Filter) for side in made.inputs] == [bool(left), bool(right)], kind


def test_as_of_joins_take_filters_on_the_left() -> None:
    made = AsOf("inner", SPANS, OTHER, ("k",), ("k",), NAMES)
    becomes("push_filters", Filter(made, X), f"{made.label}\n  filter (x > 1)\n    stream s\n  stream q")
    stays("push_filters", Filter(made, col("z") > 2))


def test_user_code_sees_no_other_rows() -> None:
    user = odd(col("x"))
    stays("push_filters", Filter(Distinct(SPANS), user))
    stays("push_filters", Filter(joined("inner"), odd(col("z"))))
    becomes("push_filters", Filter(Shift(SPANS, 1), user & X), f"""
        filter {user!r}
          shift 1us
            filter (x > 1)
              stream s
    """)  # fmt: skip
    stays("fuse_stateless", Filter(Filter(SPANS, X), user))
    assert isinstance(rule("fuse_stateless").rewrite(Filter(Filter(SPANS, user), X)).inputs[0], Input)


def test_elements_of_user_code_stop_filters() -> None:
    made = Elements(SPANS, ElementCode(Code.of(twice), "map", Schema.of({"x": "int"})))
    stays("push_filters", Filter(made, X))
    stays("prune_columns", made)


# -- joins -------------------------------------------------------------------------------------------------


def test_outer_joins_that_a_filter_narrows() -> None:
    def kind(before: str, condition: Expr) -> str:
        made = rule("narrow_joins").rewrite(Filter(joined(before), condition))
        assert isinstance(made.inputs[0], Join)
        return made.inputs[0].kind

    assert kind("left", col("z") > 1) == "inner"
    assert kind("left", col("z").is_not_null() & X) == "inner"
    assert kind("left", (col("z") > 1) | (col("w") < 2)) == "inner"
    assert kind("left", (col("z") > 1) | X) == "left"
    assert kind("left", coalesce(col("z"), 0) > -1) == "left"
    assert kind("left", col("z").is_null()) == "left"
    assert kind("left", when(col("z") > 1, False).otherwise(True)) == "left"
    assert kind("full", X) == "left"
    assert kind("full", X & (col("z") > 1)) == "inner"
    assert kind("full", col("z") > 1) == "full"
    assert kind("anti", X) == "anti"


def test_equalities_become_keys() -> None:
    plan = Join("anti", SPANS, OTHER, (), (), NAMES, (col("k2") == col("k")) & (col("x") == col("z")) & X)
    becomes("equal_keys", plan, """
        anti join on k == k, x == z where (x > 1) (k as k2)
          stream s
          stream q
    """)  # fmt: skip
    stays("equal_keys", Join("inner", SPANS, OTHER, (), (), NAMES, col("y") == col("w")))
    stays("equal_keys", Join("inner", SPANS, OTHER, (), (), NAMES, (col("x") == col("z")) | X))
    stays("equal_keys", Join("inner", SPANS, OTHER, (), (), NAMES, (col("x") >= col("z")) & (col("x") == 1)))


def test_the_smaller_side_is_sent_to_every_task() -> None:
    names = tuple((name, name) for name in SCHEMA.names)
    becomes("choose_sides", Join("inner", TABLE, SPANS, (), (), names, col("id") > col("x")), """
        project id, name, k, x, y, ts
          inner join on nothing where (id > x)
            project k, x, y, ts
              stream s
            table t
    """)  # fmt: skip
    stays("choose_sides", Join("left", TABLE, SPANS, (), (), names))
    stays("choose_sides", Join("inner", TABLE, Project(SPANS, (("id", col("x")),)), ("id",), ("id",), ()))
    stays("choose_sides", Join("inner", SPANS, OTHER, (), (), NAMES))


# -- columns, neighbours, lifetimes ------------------------------------------------------------------------


def test_columns_that_nobody_reads_are_not_moved() -> None:
    plan = Project(Filter(joined("inner"), col("w") > 1), (("x", col("x")),))
    becomes("prune_columns", plan, """
        project x
          filter (w > 1)
            inner join on k == k (without k)
              project k, x
                stream s
              project k, w
                stream q
    """)  # fmt: skip
    becomes("prune_columns", Project(joined("anti"), (("x", col("x")),)), """
        project x
          anti join on k == k (without k)
            project k, x
              stream s
            project k
              stream q
    """)  # fmt: skip


def test_aggregates_that_nobody_reads_are_not_taken() -> None:
    plan = Project(WindowAggregate(SPANS, ("k",), COUNT, LENGTH), (("m", col("m")),))
    becomes("prune_columns", plan, """
        project m
          aggregate max(x) as m by k over tumbling(10us) result=window
            stream s
    """)  # fmt: skip
    early = WindowAggregate(SPANS, ("k",), COUNT, LENGTH, early=5)
    stays("prune_columns", Project(early, (("m", col("m")),)))  # a change of n makes a revision of m


@pytest.mark.parametrize("over", [Distinct, Stitch])
def test_the_whole_payload_says_what_is_the_same(over: type[Distinct] | type[Stitch]) -> None:
    made = over(Project(SPANS, (("k", col("k")), ("x", col("x")))))
    stays("prune_columns", Project(made, (("x", col("x")),)))


def test_all_users_of_a_part_get_what_they_read() -> None:
    shared = joined("inner")
    plan = Union((Project(shared, (("a", col("x")),)), Project(shared, (("a", col("z")),))))
    made = optimize(plan)
    assert isinstance(made, Union)
    one, other = made.branches
    assert one.inputs[0] is other.inputs[0]
    assert set(one.inputs[0].schema.names) == {"k", "x", "z"}


def test_joins_of_different_columns_are_different() -> None:
    both, one = joined("inner"), Join("inner", SPANS, OTHER, ("k",), ("k",), NAMES[:2])
    assert both.identity != one.identity


def test_neighbours_become_one() -> None:
    plan = Project(Project(Filter(Filter(SPANS, X), K), (("a", col("x") + 1), ("k", col("k")))), (("b", col("a") * 2),))
    becomes("fuse_stateless", plan, """
        project ((x + 1) * 2) as b
          filter ((x > 1) & (k == 'a'))
            stream s
    """)  # fmt: skip
    becomes("fuse_stateless", Union((Union((SPANS, OPEN)), SPANS)), "union\n  stream s\n  stream o\n  stream s")
    becomes("fuse_stateless", Project(SPANS, tuple((name, col(name)) for name in SCHEMA.names)), "stream s")
    twice = Project(Project(SPANS, (("a", col("x") + 1),)), (("b", col("a") * col("a")),))
    stays("fuse_stateless", twice)
    stays("fuse_stateless", Project(SPANS, (("k", col("k")), ("x", col("x")))))


def test_a_bare_null_stays_a_string() -> None:
    plan = Project(Project(SPANS, (("a", lit(None)),)), (("b", coalesce(col("a"), lit("x"))),))
    assert optimize(plan).schema == plan.schema


@pytest.mark.parametrize(
    ("plan", "made"),
    [
        (Shift(Shift(SPANS, 5), -5), SPANS),
        (Shift(Shift(SPANS, 5), 6), Shift(SPANS, 11)),
        (SetDuration(POINTS, 1), POINTS),
        (ClipDuration(POINTS, 9), POINTS),
        (Chop(POINTS, 9), POINTS),
        (SetDuration(SetDuration(OPEN, FOREVER), 5), SetDuration(OPEN, 5)),
        (SetDuration(ClipDuration(OPEN, 3), 5), SetDuration(OPEN, 5)),
        (SetDuration(SetDuration(OPEN, 3), col("x")), SetDuration(OPEN, col("x"))),
        (Extend(SetDuration(OPEN, 5), -4), SetDuration(OPEN, 1)),
        (Extend(SetDuration(OPEN, FOREVER), -4), SetDuration(OPEN, FOREVER)),
        (Extend(Extend(SPANS, -3), -4), Extend(SPANS, -7)),
        (Extend(Extend(SPANS, 3), -4), Extend(SPANS, -1)),
        (ClipDuration(SetDuration(OPEN, FOREVER), 5), SetDuration(OPEN, 5)),
        (ClipDuration(ClipDuration(OPEN, 7), 5), ClipDuration(OPEN, 5)),
        (Extend(SPANS, 0), SPANS),
    ],
    ids=lambda node: explain(node).partition("\n  stream")[0],
)
def test_lifetimes_are_changed_once(plan: Node, made: Node) -> None:
    assert explain(optimize(plan, [rule("lifetimes")])) == explain(made)


@pytest.mark.parametrize(
    "plan",
    [
        Extend(Extend(SPANS, -4), 3),  # the first drops what is short
        Extend(SetDuration(SPANS, 3), -3),
        SetDuration(Extend(SPANS, -4), 3),
        SetDuration(SetDuration(SPANS, col("x")), 3),
        SetDuration(SetDuration(SPANS, 3), end().unix_micros()),
        PointAtEnd(SetDuration(SPANS, 3)),  # time would pass otherwise
        SetDuration(SPANS, 1),
        ClipDuration(SPANS, 5),
    ],
    ids=lambda node: explain(node).partition("\n  stream")[0],
)
def test_lifetimes_that_stay(plan: Node) -> None:
    stays("lifetimes", plan)


def test_equal_parts_are_one_object() -> None:
    plan = Union((Distinct(Filter(SPANS, X)), Shift(Distinct(Filter(SPANS, col("x") > 1)), 5)))
    made = rule("merge_equal").rewrite(plan)
    assert isinstance(made, Union)
    assert made.branches[1].inputs[0] is made.branches[0]
    assert made.identity == plan.identity
