"""Expressions, by precedence: OR, AND, NOT, comparisons, ``+ - ||``, ``* / % DIV``, signs, ``::``."""

from __future__ import annotations

from datetime import date
from math import isfinite

from sqlglot.tokenizer_core import TokenType

from waterclock.errors import ConfigError
from waterclock.lang.sql import tree
from waterclock.lang.sql.durations import CALENDAR, UNITS, written
from waterclock.lang.sql.parse.cursor import RESERVED, Cursor
from waterclock.lang.sql.source import Span
from waterclock.time import instant

LONGEST = 150
"""How many operators of one rank may follow each other."""
_COMPARISONS = {
    TokenType.EQ: ("eq", "="),
    TokenType.NEQ: ("ne", "!="),
    TokenType.LT: ("lt", "<"),
    TokenType.LTE: ("le", "<="),
    TokenType.GT: ("gt", ">"),
    TokenType.GTE: ("ge", ">="),
    TokenType.NULLSAFE_EQ: ("same", "<=>"),
}
_SUMS = {TokenType.PLUS: ("add", "+"), TokenType.DASH: ("subtract", "-"), TokenType.DPIPE: ("concat", "||")}
_PRODUCTS = {TokenType.STAR: ("multiply", "*"), TokenType.SLASH: ("divide", "/"), TokenType.MOD: ("mod", "%")}
_BITS = {TokenType.AMP: "&", TokenType.PIPE: "|", TokenType.CARET: "^", TokenType.TILDE: "~", TokenType.DAMP: "&&"}


class Expressions(Cursor):
    def expression(self) -> tree.Expression:
        with self.deeper():
            return self._disjunction()

    def _chain(self, start: Span, left: tree.Expression, function: str, symbol: str, right: tree.Expression,
               length: int) -> tree.Expression:  # fmt: skip
        if length > LONGEST:
            raise self.error("SQL.TOO_DEEP", start)
        return tree.Operator(function, symbol, (left, right), span=self.since(start))

    def _disjunction(self) -> tree.Expression:
        start, left, length = self.here, self._conjunction(), 0
        while self.accept("OR"):
            left = self._chain(start, left, "or", "OR", self._conjunction(), length := length + 1)
        return left

    def _conjunction(self) -> tree.Expression:
        start, left, length = self.here, self._negation(), 0
        while self.accept("AND"):
            left = self._chain(start, left, "and", "AND", self._negation(), length := length + 1)
        return left

    def _negation(self) -> tree.Expression:
        start = self.here
        if self.accept("NOT") or self.accept_mark(TokenType.NOT):
            with self.deeper():
                return tree.Operator("not", "NOT", (self._negation(),), span=self.since(start))
        return self._comparison()

    def _comparison(self) -> tree.Expression:
        start, left = self.here, self._sum()
        while True:
            token = self.peek()
            if token is not None and token.token_type in _COMPARISONS:
                function, symbol = _COMPARISONS[self.take().token_type]
                self._no_subquery()
                left = tree.Operator(function, symbol, (left, self._sum()), span=self.since(start))
                if (token := self.peek()) is not None and token.token_type in _COMPARISONS:
                    raise self.error("SQL.CHAINED", self.here, symbol=symbol)
                continue
            negated = self.sees("NOT") and self.word(1) in ("IN", "BETWEEN", "LIKE", "RLIKE", "ILIKE", "REGEXP")
            if negated:
                self.keyword()
            found = self._predicate(start, left)
            if found is None:
                return left
            left = tree.Operator("not", "NOT", (found,), span=found.span) if negated else found

    def _predicate(self, start: Span, left: tree.Expression) -> tree.Expression | None:
        if self.accept("IS"):
            return self._is(start, left)
        if self.accept("IN"):
            opened = self.expect_mark(TokenType.L_PAREN, "(", "Write x IN (1, 2, 3).")
            self._no_subquery()
            values = self.listed(self.expression)
            self.close(opened)
            return tree.Operator("is_in", "IN", (left, *values), span=self.since(start))
        if self.accept("BETWEEN"):
            low = self._sum()
            self.expect("AND", fix="Write x BETWEEN low AND high.")
            high = self._sum()
            span = self.since(start)
            lower = tree.Operator("ge", "BETWEEN", (left, low), span=span)
            return tree.Operator(
                "and", "BETWEEN", (lower, tree.Operator("le", "BETWEEN", (left, high), span=span)), span=span
            )
        if self.accept("LIKE"):
            return tree.Like(left, self._sum(), span=self.since(start))
        for word in ("RLIKE", "REGEXP", "ILIKE"):
            if self.accept(word):
                name = tree.Word(word.replace("REGEXP", "RLIKE").lower(), span=self.before)
                return tree.Call(name, (left, self._sum()), span=self.since(start))
        return None

    def _is(self, start: Span, left: tree.Expression) -> tree.Expression:
        negated = self.accept("NOT")
        if self.accept("NULL"):
            found = tree.Operator("is_null", "IS NULL", (left,), span=self.since(start))
        elif self.sees("TRUE") or self.sees("FALSE"):
            value = tree.Value(self.keyword().text == "TRUE", "boolean", span=self.before)
            found = tree.Operator("same", "IS", (left, value), span=self.since(start))
        elif self.accept("DISTINCT", "FROM"):
            same = tree.Operator("same", "IS DISTINCT FROM", (left, self._sum()), span=self.since(start))
            found = tree.Operator("not", "NOT", (same,), span=same.span)
        else:
            raise self.wrong("NULL, TRUE, FALSE or DISTINCT FROM", "Write x IS NULL or x IS NOT NULL.")
        return tree.Operator("not", "NOT", (found,), span=found.span) if negated else found

    def _sum(self) -> tree.Expression:
        start, left, length = self.here, self._product(), 0
        while (token := self.peek()) is not None and token.token_type in _SUMS:
            function, symbol = _SUMS[self.take().token_type]
            left = self._chain(start, left, function, symbol, self._product(), length := length + 1)
        if (token := self.peek()) is not None and token.token_type in _BITS:
            raise self.unsupported(self.here, f"{_BITS[token.token_type]!r}", "Use AND, OR and NOT for conditions.")
        return left

    def _product(self) -> tree.Expression:
        start, left, length = self.here, self._unary(), 0
        while True:
            token = self.peek()
            if token is not None and token.token_type in _PRODUCTS:
                function, symbol = _PRODUCTS[self.take().token_type]
            elif self.accept("DIV"):
                function, symbol = "div", "DIV"
            else:
                return left
            left = self._chain(start, left, function, symbol, self._unary(), length := length + 1)

    def _unary(self) -> tree.Expression:
        start = self.here
        if self.accept_mark(TokenType.PLUS):
            return self._unary_operand()
        if self.accept_mark(TokenType.DASH):
            operand = self._unary_operand()
            span = self.since(start)
            if isinstance(operand, tree.Value) and operand.type in ("int", "bigint", "double"):
                return tree.Value(-operand.value, _int_type(-operand.value), span=span)
            if isinstance(operand, tree.Length):
                return tree.Length(-operand.micros, span=span)
            return tree.Operator("negate", "-", (operand,), span=span)
        return self._postfix()

    def _unary_operand(self) -> tree.Expression:
        with self.deeper():
            return self._unary()

    def _postfix(self) -> tree.Expression:
        start, value = self.here, self._primary()
        while True:
            if self.accept_mark(TokenType.DCOLON):
                value = tree.Conversion(value, self.type_name(), span=self.since(start))
            elif self.sees_mark(TokenType.L_BRACKET):
                raise self.unsupported(self.here, "An element of an array, x[i],", "EXPLODE(x) gives one row for each.")
            elif self.sees_mark(TokenType.COLON) or self.sees_mark(TokenType.ARROW):
                raise self.wrong("an operator", "A parameter is written :name, with a comma or an operator before it.")
            else:
                return value

    # -- primary -------------------------------------------------------------------------------------------

    def _primary(self) -> tree.Expression:
        start, token = self.here, self.peek()
        kind = None if token is None else token.token_type
        if kind == TokenType.NUMBER or (kind == TokenType.DOT and self.sees_mark(TokenType.NUMBER, 1)):
            return self._number()
        if kind == TokenType.STRING:
            value = tree.Value(self.take().text, "string", span=start)
            if self.sees_mark(TokenType.STRING):
                raise self.wrong("an operator", "Join texts with ||.")
            return value
        if kind == TokenType.COLON:
            self.take()
            if not self.word():
                raise self.wrong("the name of a parameter", "Write :name.")
            return tree.Parameter(self.take().text, span=self.since(start))
        if kind == TokenType.L_PAREN:
            return self._parentheses()
        if kind == TokenType.STAR:
            raise self.error("SQL.STAR", start)
        if kind == TokenType.IDENTIFIER or self.word():
            return self._from_word(start)
        raise self.wrong("a value", "A value is a column, a constant, a function call or :parameter.")

    def _parentheses(self) -> tree.Expression:
        opened = self.here
        self.take()
        self._no_subquery(opened)
        value = self.expression()
        if self.sees_mark(TokenType.COMMA):
            raise self.unsupported(opened, "A row of values, (a, b),", "Compare the values one by one, with AND.")
        self.close(opened)
        return value

    def _from_word(self, start: Span) -> tree.Expression:
        word, called = self.word(), self.sees_mark(TokenType.L_PAREN, 1)
        if word in ("TRUE", "FALSE"):
            self.keyword()
            return tree.Value(word == "TRUE", "boolean", span=start)
        if word == "NULL":
            self.keyword()
            return tree.Value(None, "null", span=start)
        if word == "CASE":
            return self._case()
        if word in ("CAST", "TRY_CAST") and called:
            return self._cast()
        if word == "INTERVAL" and (self.sees_mark(TokenType.STRING, 1) or self.sees_mark(TokenType.NUMBER, 1)):
            return self.interval()
        if word in ("TIMESTAMP", "DATE") and self.sees_mark(TokenType.STRING, 1):
            return self._moment(word)
        if word == "EXISTS" and called:
            fix = "Use LEFT SEMI JOIN, or LEFT ANTI SEMI JOIN for NOT EXISTS."
            raise self.unsupported(start, "EXISTS", fix)
        if called and (word not in RESERVED or word in ("LEFT", "RIGHT")):
            return self.call()
        if word in RESERVED and word:
            raise self.wrong("a value", f"As the name of a column, write `{word.lower()}` in backticks.")
        return self.column()

    def column(self) -> tree.Name:
        start = self.here
        parts = [self.name("a column").text]
        while self.accept_mark(TokenType.DOT):
            if self.sees_mark(TokenType.STAR):
                raise self.error("SQL.STAR", self.here)
            token = self.peek()
            if token is None or token.token_type not in (TokenType.VAR, TokenType.IDENTIFIER):
                raise self.wrong("a column", "Write relation.column.")
            parts.append(self.take().text)
            if self.sees_mark(TokenType.L_PAREN):
                raise self.unsupported(self.since(start), "A method", "Call a function: f(x).")
        return tree.Name(tuple(parts), span=self.since(start))

    def call(self) -> tree.Call:
        start, token = self.here, self.take()
        name = tree.Word(token.text, span=start)
        opened = self.expect_mark(TokenType.L_PAREN, "(")
        distinct = self.accept("DISTINCT")
        args: tuple[tree.Expression | tree.Star | tree.Named, ...] = ()
        if not self.accept_mark(TokenType.R_PAREN):
            args = self.listed(self._argument)
            self.close(opened)
        within = self._within() if self.sees("WITHIN", "GROUP") else None
        where = None
        if self.sees("FILTER") and self.sees_mark(TokenType.L_PAREN, 1):
            self.keyword()
            opened = self.expect_mark(TokenType.L_PAREN, "(")
            self.expect("WHERE", fix="Write COUNT(*) FILTER (WHERE x > 5).")
            where = self.expression()
            self.close(opened)
        if self.sees("OVER"):
            raise self.error("SQL.OVER", self.here, function=token.text.upper())
        return tree.Call(name, args, distinct, where, within, span=self.since(start))

    def _argument(self) -> tree.Expression | tree.Star | tree.Named:
        start = self.here
        if self.accept_mark(TokenType.STAR):
            return tree.Star(None, span=start)
        if self.word() and self.sees_mark(TokenType.FARROW, 1):
            name = tree.Word(self.take().text, span=start)
            self.take()
            return tree.Named(name, self.expression(), span=self.since(start))
        self._no_subquery()
        value = self.expression()
        if self.sees_mark(TokenType.ARROW):
            raise self.unsupported(self.here, "A function of a function, x -> ...,", "EXPLODE the array into rows.")
        return value

    def _within(self) -> tree.Order:
        self.expect("WITHIN", "GROUP")
        opened = self.expect_mark(TokenType.L_PAREN, "(")
        self.expect("ORDER", "BY")
        start = self.here
        by = self.expression()
        descending = self.accept("DESC") or (self.accept("ASC") and False)
        self.close(opened)
        return tree.Order(by, descending, span=self.since(start))

    def _case(self) -> tree.Expression:
        start = self.expect("CASE")
        operand = None if self.sees("WHEN") else self.expression()
        pairs: list[tuple[tree.Expression, tree.Expression]] = []
        while self.accept("WHEN"):
            condition = self.expression()
            self.expect("THEN", fix="Write CASE WHEN condition THEN value ELSE value END.")
            if operand is not None:
                condition = tree.Operator("eq", "CASE", (operand, condition), span=condition.span)
            pairs.append((condition, self.expression()))
        if not pairs:
            raise self.wrong("WHEN", "Write CASE WHEN condition THEN value ELSE value END.")
        otherwise = self.expression() if self.accept("ELSE") else None
        self.expect("END", fix="Write CASE WHEN condition THEN value ELSE value END.")
        return tree.Case(tuple(pairs), otherwise, span=self.since(start))

    def _cast(self) -> tree.Expression:
        start = self.keyword().span
        opened = self.expect_mark(TokenType.L_PAREN, "(")
        value = self.expression()
        self.expect("AS", fix="Write CAST(x AS type).")
        to = self.type_name()
        self.close(opened)
        return tree.Conversion(value, to, span=self.since(start))

    def type_name(self) -> tree.Word:
        """A type, ``ARRAY<type>`` and ``VARCHAR(20)`` too, as its text."""
        start = self.here
        if not self.word():
            raise self.wrong(
                "a type", "Types are BOOLEAN, INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP."
            )
        self.keywords.add(start.start)
        text = self.take().text
        if self.accept_mark(TokenType.LT):
            with self.deeper():
                text = f"{text}<{self.type_name().text}>"
            self.expect_mark(TokenType.GT, ">")
        elif self.accept_mark(TokenType.L_PAREN):
            opened = self.before
            while self.accept_mark(TokenType.NUMBER) or self.accept_mark(TokenType.COMMA):
                pass
            self.close(opened)
            if text.upper() not in ("VARCHAR", "CHAR"):
                text = self.source.slice(self.since(start))
        return tree.Word(text, span=self.since(start))

    # -- constants -----------------------------------------------------------------------------------------

    def _number(self) -> tree.Expression:
        start = self.here
        text = ("." if self.accept_mark(TokenType.DOT) else "") + self.take().text
        span = self.since(start)
        if self._unit_follows(span):
            return self._length(start, text)
        token = self.peek()
        if token is not None and token.start == span.end and token.token_type in (TokenType.VAR, TokenType.NUMBER):
            raise self.error("SQL.BAD_UNIT", self.here, unit=token.text, units="us, ms, s, m, h, d, w")
        try:
            value: int | float = int(text) if text.isdigit() else float(text)
        except ValueError:
            raise self.error("SQL.BAD_NUMBER", span, text=text) from None
        if value >= 2**63 if isinstance(value, int) else not isfinite(value):
            raise self.error("SQL.BAD_NUMBER", span, text=text)
        return tree.Value(value, _int_type(value), span=span)

    def _unit_follows(self, number: Span) -> bool:
        """``5s`` and ``5 SECONDS``; a short unit must touch its number, so that ``5 s`` can be a value with a name."""
        unit = self.word().lower()
        if unit not in UNITS:
            return False
        return self.here.start == number.end or len(unit) > 3

    def _length(self, start: Span, text: str) -> tree.Expression:
        parts = f"{text} {self.take().text}"
        while self.sees_mark(TokenType.NUMBER) and self.word(1).lower() in UNITS:
            parts += f" {self.take().text} {self.take().text}"
        return tree.Length(self.measured(parts, self.since(start)), span=self.since(start))

    def interval(self) -> tree.Length:
        """``INTERVAL '5' SECOND``, ``INTERVAL 5 SECONDS``, ``INTERVAL '1 hour 30 minutes'``."""
        start = self.expect("INTERVAL")
        text = self.take().text
        if self.word().lower().rstrip("s") in CALENDAR:
            raise self.error("SQL.CALENDAR", self.since(start), unit=self.word().rstrip("S"))
        if self.word() and text.replace(".", "", 1).lstrip("+-").strip().isdigit() and not self.sees("TO"):
            text = f"{text.strip()} {self.keyword().text}"
        if self.sees("TO"):
            raise self.unsupported(self.here, "INTERVAL ... TO ...", "Write INTERVAL '1 hour 30 minutes', or 1h 30m.")
        return tree.Length(self.measured(text, self.since(start)), span=self.since(start))

    def measured(self, text: str, span: Span) -> int:
        try:
            return written(text)
        except (ConfigError, OverflowError, ValueError):
            raise self.error("SQL.BAD_DURATION", span, text=text) from None

    def _moment(self, word: str) -> tree.Expression:
        start = self.here
        self.keyword()
        text = self.take().text
        span = self.since(start)
        try:
            if word == "DATE":
                return tree.Value(date.fromisoformat(text), "date", span=span)
            return tree.Value(instant(text), "timestamp", span=span)
        except (ConfigError, ValueError, OverflowError):
            raise self.error("SQL.BAD_MOMENT", span, text=text, kind=word) from None

    def _no_subquery(self, at: Span | None = None) -> None:
        """A query where a value is expected."""
        ahead = 1 if self.sees_mark(TokenType.L_PAREN) else 0
        if self.word(ahead) == "SELECT" or (self.word(ahead) == "WITH" and self.word(ahead + 2) == "AS"):
            raise self.error("SQL.SUBQUERY", at or self.here)


def _int_type(value: int | float) -> str:
    if isinstance(value, float):
        return "double"
    return "int" if -(2**31) <= value < 2**31 else "bigint"
