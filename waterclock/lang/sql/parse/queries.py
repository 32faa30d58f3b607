"""Queries: SELECT and its clauses, joins, sub-queries, WITH, UNION."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot.tokenizer_core import TokenType

from waterclock.lang.sql import tree
from waterclock.lang.sql.names import nearest
from waterclock.lang.sql.parse.expressions import Expressions
from waterclock.lang.sql.source import Span

WINDOWS = ("TUMBLING", "HOPPING", "SLIDING", "SNAPSHOT", "SESSION", "COUNT")
CLAUSES = ("WHERE", "GROUP BY", "WITH", "HAVING", "ORDER BY", "LIMIT", "EMIT", "ON ERROR")
"""Behind FROM, in this order; HAVING may also stand before WITH."""
_RANK = {"WHERE": 1, "GROUP BY": 2, "WITH": 3, "HAVING": 3, "ORDER BY": 4, "LIMIT": 5, "EMIT": 6, "ON ERROR": 7}
_STARTS = {"WHERE": "WHERE", "GROUP": "GROUP BY", "WITH": "WITH", "HAVING": "HAVING", "ORDER": "ORDER BY",
           "LIMIT": "LIMIT", "EMIT": "EMIT", "ON": "ON ERROR"}  # fmt: skip
MOST_JOINS = 40
_RESULTS = ("WINDOW", "END", "HOLD")
_ELSEWHERE = {
    "QUALIFY": "Rank with ORDER BY x DESC LIMIT 3 BY user.",
    "WINDOW": "Name the window in the query itself: WITH TUMBLING(5s).",
    "FETCH": "Write LIMIT 10.",
    "OFFSET": "Only the first rows can be kept: ORDER BY x LIMIT 10.",
    "INTERSECT": "Use LEFT SEMI JOIN.",
    "EXCEPT": "Use LEFT ANTI SEMI JOIN.",
    "MINUS": "Use LEFT ANTI SEMI JOIN.",
    "LATERAL": "Write EXPLODE(array) AS name in the SELECT list.",
    "TABLESAMPLE": "Filter by a column instead.",
    "CLUSTER": "How rows are spread is not part of the language.",
    "DISTRIBUTE": "How rows are spread is not part of the language.",
    "SORT": "Write ORDER BY x LIMIT 10.",
    "PIVOT": "Write an aggregate with FILTER (WHERE ...) for each column.",
}


@dataclass
class _Clauses:
    """What was read of a SELECT behind FROM."""

    where: tree.Expression | None = None
    keys: tuple[tree.Expression, ...] = ()
    window: tree.Windowing | None = None
    having: tree.Expression | None = None
    order: tuple[tree.Order, ...] = ()
    limit: tree.Limit | None = None
    on_error: tree.OnError | None = None
    seen: list[str] = field(default_factory=list)


class Queries(Expressions):
    question = False
    """Of a query that is asked once, ORDER BY and LIMIT may stand alone, and streams may be read as of a time."""

    def query(self) -> tree.Query:
        with self.deeper():
            start = self.here
            if not self.accept("WITH"):
                return self._union()
            if self.accept("RECURSIVE"):
                raise self.unsupported(self.before, "WITH RECURSIVE", "A query can use only those before it.")
            parts = self.listed(self._part)
            return tree.With(parts, self._union(), span=self.since(start))

    def _part(self) -> tuple[tree.Word, tree.Query]:
        if self.word() in WINDOWS:
            raise self.error("SQL.CLAUSE_ORDER", self.here, clause="WITH window", other="SELECT")
        name = self.name("the name of a query", "Write WITH name AS (SELECT ...) SELECT ...")
        self.expect("AS", fix="Write WITH name AS (SELECT ...) SELECT ...")
        opened = self.expect_mark(TokenType.L_PAREN, "(")
        query = self.query()
        self.close(opened)
        return name, query

    def _union(self) -> tree.Query:
        start, branches, distinct = self.here, [self._branch()], False
        while self.sees("UNION"):
            span = self.keyword().span
            self._no_limit(branches[-1])
            whole = not self.accept("ALL")
            self.accept("DISTINCT")
            if len(branches) > 1 and whole != distinct:
                raise self.unsupported(span, "UNION and UNION ALL in one query", "Give one of them a name of its own.")
            distinct = whole
            branches.append(self._branch())
        if len(branches) == 1:
            return branches[0]
        self._no_limit(branches[-1])
        return tree.Combined(tuple(branches), distinct, span=self.since(start))

    def _no_limit(self, branch: tree.Query) -> None:
        """Without parentheses, it would not be clear whether a LIMIT is of the branch or of the union."""
        if not isinstance(branch, tree.Select) or self.source.text[branch.span.start] == "(":
            return
        if branch.limit:
            fix = "Put the query with the LIMIT into parentheses; for the whole union, name that and select from it."
            raise self.unsupported(branch.limit.span, "LIMIT in a UNION", fix)
        if branch.order:
            fix = "Select from the union: SELECT * FROM (... UNION ALL ...) AS u ORDER BY x."
            raise self.unsupported(branch.order[0].span, "ORDER BY in a UNION", fix)

    def _branch(self) -> tree.Query:
        if not self.sees_mark(TokenType.L_PAREN):
            return self._select()
        opened = self.here
        self.take()
        query = self.query()
        self.close(opened)
        return replace(query, span=self.since(opened))

    def _select(self) -> tree.Select:
        start = self.here
        if not self.accept("SELECT"):
            raise self.wrong("SELECT", self._guess(["SELECT"]))
        distinct = None
        if self.accept("DISTINCT"):
            distinct = tree.Word("DISTINCT", span=self.before)
            if self.sees("ON"):
                raise self.unsupported(self.here, "DISTINCT ON", "Write ORDER BY x DESC LIMIT 1 BY key.")
        else:
            self.accept("ALL")
        if self.sees("TOP") and self.sees_mark(TokenType.NUMBER, 1):
            raise self.unsupported(self.here, "SELECT TOP", "Write ORDER BY x DESC LIMIT 3.")
        items = self.listed(self._item)
        self._missing_comma()
        self.expect("FROM", fix="Every query reads from a stream: SELECT ... FROM stream.")
        source = self.relation()
        read = self._clauses()
        return tree.Select(
            items, distinct, source, read.where, read.keys, read.window, read.having, read.order, read.limit,
            read.on_error, span=self.since(start),
        )  # fmt: skip

    def _missing_comma(self) -> None:
        if self.sees_name() and not self.sees("FROM"):
            raise self.wrong("',' or FROM", self._guess(["FROM"]) or "Put a comma between columns.")

    def _item(self) -> tree.Item:
        start = self.here
        value: tree.Expression | tree.Star
        dotted = self.sees_name() and self.sees_mark(TokenType.DOT, 1) and self.sees_mark(TokenType.STAR, 2)
        if dotted or self.sees_mark(TokenType.STAR):
            relation = self.name("a relation").text if dotted else None
            if dotted:
                self.take()
            self.take()
            without = self.parenthesised(lambda: self.name("a column")) if self.accept("EXCEPT") else ()
            return tree.Item(tree.Star(relation, without, span=self.since(start)), None, span=self.since(start))
        if self.sees("FROM"):
            raise self.wrong("a column", "Name what to select, or * for all columns.")
        value = self.expression()
        alias = None
        if self.accept("AS"):
            alias = self.name("a name", "A name that is a keyword goes in backticks: AS `order`.")
        elif self.sees_name() and not self.sees("FROM"):
            alias = self.name("a name")
        return tree.Item(value, alias, span=self.since(start))

    # -- clauses -------------------------------------------------------------------------------------------

    def _clauses(self) -> _Clauses:
        read = _Clauses()
        while (clause := _STARTS.get(self.word())) is not None:
            start = self.here
            if clause in read.seen:
                raise self.error("SQL.CLAUSE_TWICE", start, clause=clause)
            behind = [other for other in read.seen if _RANK[other] > _RANK[clause]]
            if behind:
                raise self.error("SQL.CLAUSE_ORDER", start, clause=clause, other=behind[0])
            read.seen.append(clause)
            self._clause(clause, read)
        if self.word() in _ELSEWHERE:
            raise self.unsupported(self.here, self.word(), _ELSEWHERE[self.word()])
        if self.question and self._depth == 1:
            return read
        if read.order and read.limit is None:
            raise self.error("SQL.ORDER_WITHOUT_LIMIT", read.order[0].span)
        if read.limit is not None and not read.order:
            raise self.error("SQL.LIMIT_WITHOUT_ORDER", read.limit.span)
        return read

    def _clause(self, clause: str, read: _Clauses) -> None:
        self.keyword()
        if clause == "WHERE":
            read.where = self.expression()
        elif clause == "GROUP BY":
            self.expect("BY")
            if self.word() in ("CUBE", "ROLLUP", "GROUPING"):
                raise self.unsupported(self.here, self.word(), "Write a query for each grouping, and UNION ALL them.")
            read.keys = self.listed(self.expression)
        elif clause == "WITH":
            read.window = self._window()
        elif clause == "HAVING":
            read.having = self.expression()
        elif clause == "ORDER BY":
            self.expect("BY")
            read.order = self.listed(self._ordering)
        elif clause == "LIMIT":
            read.limit = self._limit()
        elif clause == "ON ERROR":
            read.on_error = self._on_error()
        else:
            self._emit()

    def _ordering(self) -> tree.Order:
        start, by = self.here, self.expression()
        descending = self.accept("DESC")
        if not descending:
            self.accept("ASC")
        if self.sees("NULLS"):
            raise self.unsupported(
                self.here, "NULLS FIRST or LAST", "Events without a value have no rank; leave it out."
            )
        return tree.Order(by, descending, span=self.since(start))

    def _limit(self) -> tree.Limit:
        start, count = self.before, self.expression()
        if self.accept("WITH", "TIES"):
            pass  # what LIMIT means here anyway
        if self.sees("OFFSET") or self.sees_mark(TokenType.COMMA):
            raise self.unsupported(self.here, "OFFSET", _ELSEWHERE["OFFSET"])
        by = self.listed(self.column) if self.accept("BY") else ()
        return tree.Limit(count, by, span=self.since(start))

    def _on_error(self) -> tree.OnError:
        start, fix = self.before, "Write ON ERROR FAIL, ON ERROR SKIP or ON ERROR DEAD LETTER, perhaps with LIMIT 100."
        self.expect("ERROR", fix=fix)
        if self.accept("DEAD", "LETTER"):
            policy = "dead_letter"
        elif self.accept("SKIP"):
            policy = "skip"
        else:
            self.expect("FAIL", fix=fix)
            policy = "fail"
        limit = self.expression() if self.accept("LIMIT") else None
        return tree.OnError(policy, limit, span=self.since(start))

    def _emit(self) -> None:
        if self.accept("ON", "WINDOW", "CLOSE") or self.accept("FINAL"):
            return
        fix = (
            "Results are final: EMIT ON WINDOW CLOSE. WITH ... ALLOWED LATENESS 5m gives them earlier, with revisions."
        )
        raise self.unsupported(self.since(self.before), f"EMIT {self.word()}", fix)

    def _window(self) -> tree.Windowing:
        start = self.here
        if self.word() not in WINDOWS:
            raise self.error("SQL.UNKNOWN_WINDOW", start, window=self.found(), guess=nearest(self.word(), WINDOWS))
        kind = self.keyword()
        args = self.parenthesised(self.expression, empty=True) if self.sees_mark(TokenType.L_PAREN) else ()
        found = tree.Windowing(kind, args, span=self.since(start))
        while True:
            if self.accept("OFFSET"):
                found = replace(found, offset=self.expression(), span=self.since(start))
            elif self.accept("RESULT"):
                self.expect("AT", fix="Write RESULT AT WINDOW, RESULT AT END or RESULT AT HOLD.")
                if self.word() not in _RESULTS:
                    raise self.wrong("WINDOW, END or HOLD", self._guess(_RESULTS))
                found = replace(found, result=self.keyword())
            elif self.accept("ALLOWED"):
                self.expect("LATENESS", fix="Write ALLOWED LATENESS 5m.")
                found = replace(found, lateness=self.expression())
            else:
                return replace(found, span=self.since(start))

    # -- relations -----------------------------------------------------------------------------------------

    def relation(self) -> tree.Relation:
        start, left, joins = self.here, self._aliased(), 0
        while True:
            if self.sees_mark(TokenType.COMMA):
                raise self.unsupported(self.here, "A comma between relations", "Write a JOIN b ON a.k == b.k.")
            kind = self._join_kind()
            if kind is None:
                return left
            joins += 1
            if joins > MOST_JOINS:
                raise self.error("SQL.TOO_DEEP", kind.span)
            left = self._join(start, left, kind)

    def _join_kind(self) -> tree.Word | None:
        start = self.here
        for words, kind in _JOINS.items():
            if self.accept(*words):
                if words[0] in ("RIGHT", "NATURAL", "OUTER", "STRAIGHT"):
                    raise self.unsupported(self.since(start), f"{words[0]} JOIN", kind)
                return tree.Word(kind, span=self.since(start))
        if self.word() in ("INNER", "LEFT", "RIGHT", "FULL", "CROSS", "CLIP", "ASOF", "SEMI", "ANTI", "NATURAL"):
            self.take()
            raise self.wrong("JOIN", f"Joins: {', '.join(JOIN_NAMES)}.")
        return None

    def _join(self, start: Span, left: tree.Relation, kind: tree.Word) -> tree.Relation:
        right = self._aliased()
        on: tree.Expression | None = None
        using: tuple[tree.Word, ...] = ()
        if self.accept("ON"):
            on = self.expression()
        elif self.accept("USING"):
            using = self.parenthesised(lambda: self.name("a column"))
        elif kind.text != "cross":
            raise self.error("SQL.NO_CONDITION", kind.span)
        if kind.text == "cross" and (on is not None or using):
            raise self.wrong("no condition", "A CROSS JOIN has no ON; write INNER JOIN.")
        if self.sees("MATCH_CONDITION"):
            raise self.unsupported(self.here, "MATCH_CONDITION", "ASOF goes by the start of the events; leave it out.")
        within = self.expression() if self.accept("WITHIN") else None
        if within is not None and not kind.text.startswith("asof"):
            raise self.error("SQL.WITHIN", within.span)
        return tree.Joined(None, kind, left, right, on, using, within, span=self.since(start))

    def _aliased(self) -> tree.Relation:
        with self.deeper():
            found = self._relation()
        if self.sees("FOR"):
            if self.question:
                raise self.unsupported(
                    self.here, "FOR SYSTEM_TIME here", "It stands right behind the name of a stream."
                )
            fix = "A join already pairs events that are valid at the same time; ASOF JOIN takes the latest before."
            raise self.unsupported(self.here, "FOR SYSTEM_TIME AS OF", fix)
        if self.accept("AS"):
            return replace(found, alias=self.name("a name"))
        return replace(found, alias=self.name("a name")) if self._alias_follows() else found

    def _alias_follows(self) -> bool:
        return self.sees_name() and self.word() not in _ELSEWHERE and not self.sees_mark(TokenType.EQ, 1)

    def _relation(self) -> tree.Relation:
        start = self.here
        if self.accept_mark(TokenType.L_PAREN):
            query = self.query()
            self.close(start)
            return tree.Nested(None, query, span=self.since(start))
        if self.word() in ("LATERAL", "UNNEST", "VALUES") and self.word():
            fix = _ELSEWHERE["LATERAL"] if self.word() != "VALUES" else "Declare CREATE TABLE t (...) AS VALUES (...)."
            raise self.unsupported(start, self.word(), fix)
        name = self.name("a stream, a table or a query")
        if self.sees_mark(TokenType.L_PAREN):
            return self._applied(start, name)
        while self.accept_mark(TokenType.DOT):
            name = tree.Word(f"{name.text}.{self.name('a name').text}", span=self.since(start))
        at = self._as_of() if self.question and self.sees("FOR") else None
        return tree.Reference(None, name, at, span=self.since(start))

    def _as_of(self) -> tree.Moment:
        start = self.here
        fix = "Write FOR SYSTEM_TIME AS OF TIMESTAMP '2026-11-18T09:00:00Z', EPOCH 7 OF name or SNAPSHOT 'name'."
        self.expect("FOR", "SYSTEM_TIME", "AS", "OF", fix=fix)
        if self.accept("EPOCH"):
            value = self.expression()
            self.expect("OF", fix=fix)
            return tree.Moment("epoch", value, self.name("an output", fix), span=self.since(start))
        kind = "snapshot" if self.accept("SNAPSHOT") else "time"
        return tree.Moment(kind, self.expression(), span=self.since(start))

    def _applied(self, start: Span, function: tree.Word) -> tree.Relation:
        """A function over a relation, which is its first argument."""
        opened = self.here
        self.take()
        if self.sees("TABLE") and not self.sees_mark(TokenType.COMMA, 1):
            self.take()
        with self.deeper():
            if self.sees("SELECT"):
                raise self.wrong("'('", "Put the query into parentheses of its own: SHIFT((SELECT ...), 5s).")
            inner = self._relation()
        partition: tuple[tree.Name, ...] = ()
        if self.accept("PARTITION", "BY"):
            wrapped = self.sees_mark(TokenType.L_PAREN)
            partition = self.parenthesised(self.column) if wrapped else (self.column(),)
        args = []
        while self.accept_mark(TokenType.COMMA):
            found = self._argument()
            if isinstance(found, tree.Star):
                raise self.error("SQL.STAR", found.span)
            args.append(found)
        self.close(opened)
        return tree.Applied(None, function, inner, tuple(args), partition, span=self.since(start))

    def _guess(self, choices: list[str] | tuple[str, ...]) -> str:
        return nearest(self.word(), choices).strip()


_JOINS = {
    ("INNER", "JOIN"): "inner",
    ("JOIN",): "inner",
    ("LEFT", "OUTER", "JOIN"): "left",
    ("LEFT", "JOIN"): "left",
    ("FULL", "OUTER", "JOIN"): "full",
    ("FULL", "JOIN"): "full",
    ("LEFT", "SEMI", "JOIN"): "semi",
    ("SEMI", "JOIN"): "semi",
    ("LEFT", "ANTI", "SEMI", "JOIN"): "anti",
    ("LEFT", "ANTI", "JOIN"): "anti",
    ("ANTI", "SEMI", "JOIN"): "anti",
    ("ANTI", "JOIN"): "anti",
    ("LEFT", "CLIP", "JOIN"): "clip",
    ("CLIP", "JOIN"): "clip",
    ("ASOF", "LEFT", "OUTER", "JOIN"): "asof left",
    ("ASOF", "LEFT", "JOIN"): "asof left",
    ("LEFT", "ASOF", "JOIN"): "asof left",
    ("ASOF", "INNER", "JOIN"): "asof",
    ("ASOF", "JOIN"): "asof",
    ("CROSS", "JOIN"): "cross",
    ("RIGHT", "OUTER", "JOIN"): "Swap the two sides and write LEFT JOIN.",
    ("RIGHT", "JOIN"): "Swap the two sides and write LEFT JOIN.",
    ("NATURAL", "JOIN"): "Name the columns: JOIN b USING (k).",
}
JOIN_NAMES = (
    "INNER JOIN", "LEFT [OUTER] JOIN", "FULL [OUTER] JOIN", "LEFT SEMI JOIN", "LEFT ANTI SEMI JOIN", "CLIP JOIN",
    "ASOF [LEFT] JOIN", "CROSS JOIN",
)  # fmt: skip
