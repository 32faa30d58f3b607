"""Statements: CREATE STREAM, TABLE and VIEW, named queries, OUTPUT, SET."""

from __future__ import annotations

from typing import NamedTuple

from sqlglot.tokenizer_core import Token, TokenType

from waterclock.errors import SqlError
from waterclock.lang.sql import tree
from waterclock.lang.sql.dialect import tokenize
from waterclock.lang.sql.names import nearest
from waterclock.lang.sql.parse.queries import Queries
from waterclock.lang.sql.source import Source, Span

STATEMENTS = ("CREATE STREAM", "CREATE TABLE", "CREATE VIEW", "name = SELECT ...", "OUTPUT", "SET")
CLAUSES = ("LIFETIME", "POINT AT", "WATERMARK", "IDLE AFTER", "LATE", "BAD", "AHEAD", "MAX AHEAD", "MAX JUMP",
           "RETAIN", "FROM")  # fmt: skip
_POLICIES = {
    "LATE": ("FAIL", "DROP", "ADJUST", "DIVERT", "TO"),
    "BAD": ("FAIL", "SKIP", "DIVERT"),
    "AHEAD": ("FAIL", "QUARANTINE"),
}
_ELSEWHERE = {
    "INSERT": "A query writes with OUTPUT name TO jsonl('file.jsonl').",
    "DROP": "A program says what there is; remove the statement that made it.",
    "ALTER": "Change the CREATE statement.",
    "UPDATE": "Events never change; write a query that gives the new ones.",
    "DELETE": "Events never change; write a query that leaves some out.",
    "EXPLAIN": "Use waterclock explain FILE, or app.explain() from Python.",
    "DESCRIBE": "Use waterclock streams.",
    "SHOW": "Use waterclock streams.",
    "USE": "Name the store with SET store = 'directory', or --store.",
    "GRANT": "The store's files have the rights of the file system.",
    "MERGE": "A query writes with OUTPUT name TO jsonl('file.jsonl').",
}
_CREATE_ELSEWHERE = {
    "SOURCE": "Write CREATE STREAM name (...) ... FROM files('...').",
    "SINK": "Write OUTPUT query TO jsonl('file.jsonl').",
    "MATERIALIZED": "Write CREATE VIEW, and OUTPUT it where its rows are wanted.",
    "FUNCTION": "Define it in Python.",
    "INDEX": "There is nothing to index: state is kept by key and time.",
    "TEMPORARY": "Write CREATE VIEW.",
    "TEMP": "Write CREATE VIEW.",
    "OR": "A name is made once; leave OR REPLACE out.",
}


class Parsed(NamedTuple):
    statements: list[tree.Statement]
    errors: list[SqlError]
    keywords: set[int]
    """Where keywords begin."""
    lost: set[str]
    """Names that statements which cannot be read would have made."""


def parse(source: Source, question: bool = False) -> Parsed:
    """All statements that can be read, and what is wrong with the others. ``question``: the last is asked once."""
    parsed = Parsed([], [], set(), set())
    try:
        tokens = tokenize(source)
    except SqlError as error:
        return Parsed([], [error], set(), set())
    for part in _parts(tokens):
        cursor = Statements(source, part)
        cursor.question = question
        try:
            parsed.statements.append(cursor.statement())
        except SqlError as error:
            parsed.errors.append(error)
            parsed.lost.update(_made(part))
        parsed.keywords.update(cursor.keywords)
    return parsed


def _parts(tokens: list[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def _made(tokens: list[Token]) -> list[str]:
    """The name that a statement makes, as far as its first words tell."""
    if tokens[0].text.upper() == "CREATE":
        return [token.text for token in tokens[2:3]]
    return [tokens[0].text] if len(tokens) > 1 and tokens[1].token_type == TokenType.EQ else []


class Statements(Queries):
    def statement(self) -> tree.Statement:
        found = self._statement()
        if not self.done:
            raise self.wrong("';' or the end", self._behind())
        return found

    def _statement(self) -> tree.Statement:
        start = self.here
        if self.sees_mark(TokenType.EQ, 1) and not self.sees("SET"):
            name = self.name("the name of a query")
            self.take()
            return tree.Define(name, self.query(), span=self.since(start))
        if self.sees("CREATE"):
            return self._create(start)
        if self.accept("OUTPUT"):
            return self._output(start)
        if self.accept("SET"):
            return self._set(start)
        if self.word() in ("SELECT", "WITH") or self.sees_mark(TokenType.L_PAREN):
            return tree.Define(None, self.query(), span=self.since(start))
        if self.word() in _ELSEWHERE:
            raise self.unsupported(start, self.word(), _ELSEWHERE[self.word()])
        if self.sees("FROM"):
            raise self.wrong("SELECT", "FROM stands behind SELECT: SELECT ... FROM ...")
        guess = nearest(self.word(), ["CREATE", "OUTPUT", "SET", "SELECT"])
        raise self.wrong("a statement", f"Statements: {', '.join(STATEMENTS)}.{guess}")

    def _behind(self) -> str:
        """What a word behind a whole statement may have been meant for."""
        if self.word() in ("CREATE", "OUTPUT", "SELECT", "SET") or self.sees_mark(TokenType.EQ, 1):
            return "Put a semicolon between statements."
        guess = nearest(self.word(), ["WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "WITH", "UNION", "JOIN"])
        return guess.strip()

    # -- create --------------------------------------------------------------------------------------------

    def _create(self, start: Span) -> tree.Statement:
        self.expect("CREATE")
        if self.word() in _CREATE_ELSEWHERE:
            raise self.unsupported(self.here, f"CREATE {self.word()}", _CREATE_ELSEWHERE[self.word()])
        for word in ("STREAM", "TABLE", "VIEW"):
            if self.accept(word):
                if self.sees("IF"):
                    raise self.unsupported(self.here, "IF NOT EXISTS", "A name is made once; leave it out.")
                name = self.name(f"the name of the {word.lower()}")
                if word == "STREAM":
                    return self._stream(start, name)
                return self._table(start, name) if word == "TABLE" else self._view(start, name)
        raise self.wrong("STREAM, TABLE or VIEW", nearest(self.word(), ["STREAM", "TABLE", "VIEW"]).strip())

    def _view(self, start: Span, name: tree.Word) -> tree.Statement:
        self.expect("AS", fix=f"Write CREATE VIEW {name.text} AS SELECT ...")
        return tree.Define(name, self.query(), span=self.since(start))

    def _table(self, start: Span, name: tree.Word) -> tree.Statement:
        columns, clauses = self._columns()
        if clauses:
            fix = "A table is valid for ever. For rows with a time, write CREATE STREAM."
            raise self.unsupported(clauses[0].span, "WATERMARK of a table", fix)
        example = "Write AS VALUES (1, 'a'), (2, 'b'), or FROM files('rows.csv')."
        if self.accept("AS"):
            self.expect("VALUES", fix=example)
            rows = self.listed(lambda: self.parenthesised(self.expression))
            return tree.CreateTable(name, columns, rows, None, span=self.since(start))
        if not self.accept("FROM"):
            raise self.wrong("AS VALUES or FROM", example)
        if self.sees_mark(TokenType.STRING):
            value = tree.Value(self.take().text, "string", span=self.before)
            return tree.CreateTable(name, columns, None, value, span=self.since(start))
        return tree.CreateTable(name, columns, None, self._connector("a source"), span=self.since(start))

    def _stream(self, start: Span, name: tree.Word) -> tree.Statement:
        columns, clauses = self._columns()
        source: tree.Connector | tree.Parameter | None = None
        while not self.done:
            at = self.here
            if self.accept("FROM"):
                if source is not None:
                    raise self.error("SQL.CLAUSE_TWICE", at, clause="FROM")
                source = self._connector("a source")
                continue
            clause = self._stream_clause()
            if any(clause.kind == other.kind for other in clauses):
                raise self.error("SQL.CLAUSE_TWICE", clause.span, clause=clause.kind)
            clauses.append(clause)
        return tree.CreateStream(name, columns, tuple(clauses), source, span=self.since(start))

    def _columns(self) -> tuple[tuple[tree.ColumnType, ...], list[tree.Clause]]:
        clauses: list[tree.Clause] = []
        columns: list[tree.ColumnType] = []
        opened = self.expect_mark(TokenType.L_PAREN, "(", "Declare the columns: (user STRING, ts TIMESTAMP).")
        while True:
            if self.sees("WATERMARK", "FOR"):
                clauses.append(self._watermark())
            else:
                start, name = self.here, self.name("the name of a column")
                columns.append(tree.ColumnType(name, self.type_name(), span=self.since(start)))
                if self.word():
                    fix = "A column is a name and a type; filter with WHERE in a query."
                    raise self.unsupported(self.here, f"{self.word()} behind a column", fix)
            if not self.accept_mark(TokenType.COMMA):
                break
        self.close(opened)
        if not columns:
            raise self.error("SQL.SYNTAX", opened, expected="a column", found=")", fix="Name at least one.")
        return tuple(columns), clauses

    def _stream_clause(self) -> tree.Clause:
        start, word = self.here, self.word()
        if word == "WATERMARK":
            return self._watermark()
        if self.accept("LIFETIME"):
            values = self.parenthesised(self.expression)
            if len(values) != 2:
                fix = "Write LIFETIME (started, ended) or LIFETIME (ts, ts + 2 MINUTES)."
                raise self.error(
                    "SQL.SYNTAX", self.since(start), expected="a start and an end", found=f"{len(values)}", fix=fix
                )
            return tree.Clause("LIFETIME", (), values, span=self.since(start))
        if self.accept("POINT"):
            self.expect("AT", fix="Write POINT AT ts.")
            return tree.Clause("POINT AT", (), (self.column(),), span=self.since(start))
        if self.accept("IDLE"):
            self.expect("AFTER", fix="Write IDLE AFTER 30s.")
            return tree.Clause("IDLE AFTER", (), (self.expression(),), span=self.since(start))
        if self.accept("RETAIN"):
            return tree.Clause("RETAIN", (), (self.expression(),), span=self.since(start))
        if self.accept("MAX"):
            if self.word() not in ("AHEAD", "JUMP"):
                raise self.wrong("AHEAD or JUMP", "Write MAX AHEAD 1h or MAX JUMP 1d.")
            return self._bound(start, f"MAX {self.keyword().text}")
        if word in _POLICIES:
            return self._policy(start, word)
        guess = nearest(word, [clause.split()[0] for clause in CLAUSES])
        raise self.wrong("a clause of CREATE STREAM", f"Clauses: {', '.join(CLAUSES)}.{guess}")

    def _policy(self, start: Span, kind: str) -> tree.Clause:
        self.keyword()
        choices = _POLICIES[kind]
        if self.word() not in choices:
            fix = f"Choose one of: {', '.join(choices)}.{nearest(self.word(), choices)}"
            raise self.wrong(f"what to do with {kind.lower()} rows", fix)
        words = [self.keyword()]
        if words[0].text == "TO":
            words.append(self.name("a name for the stream of late rows"))
        return tree.Clause(kind, tuple(words), span=self.since(start))

    def _bound(self, start: Span, kind: str) -> tree.Clause:
        if self.accept("NONE"):
            return tree.Clause(kind, (tree.Word("NONE", span=self.before),), span=self.since(start))
        return tree.Clause(kind, (), (self.expression(),), span=self.since(start))

    def _watermark(self) -> tree.Clause:
        start = self.expect("WATERMARK")
        if self.accept("NONE"):
            words: tuple[tree.Word, ...] = (tree.Word("NONE", span=self.before),)
            return tree.Clause("WATERMARK", words, span=self.since(start))
        if self.accept("FOR"):
            column = self.name("a column")
            self.expect("AS", fix="Write WATERMARK FOR ts AS ts - INTERVAL '5' SECOND.")
            words = (tree.Word("FOR", span=column.span), column)
            return tree.Clause("WATERMARK", words, (self.expression(),), span=self.since(start))
        for word in ("FROM", "IN"):
            if self.accept(word):
                name = self.name("a stream" if word == "FROM" else "a column")
                delay = (self.expression(),) if word == "FROM" and self.accept_mark(TokenType.DASH) else ()
                words = (tree.Word(word, span=name.span), name)
                return tree.Clause("WATERMARK", words, delay, span=self.since(start))
        return tree.Clause("WATERMARK", (), (self.expression(),), span=self.since(start))

    # -- output, set ---------------------------------------------------------------------------------------

    def _output(self, start: Span) -> tree.Statement:
        if self.sees("SELECT") or self.sees_mark(TokenType.L_PAREN):
            raise self.wrong("the name of a query", "Name the query first: name = SELECT ...; OUTPUT name TO ...")
        query = self.name("the name of a query")
        name = self.name("a name for the output") if self.accept("AS") else None
        sink = None
        if self.accept("TO"):
            sink = self._connector("a sink")
        recovery = self._connector("a strategy") if self.accept("RECOVERY") else None
        return tree.Output(query, name, sink, recovery, span=self.since(start))

    def _connector(self, what: str) -> tree.Connector | tree.Parameter:
        start = self.here
        if self.sees_mark(TokenType.COLON):
            found = self._primary()
            assert isinstance(found, tree.Parameter)
            return found
        if self.sees_mark(TokenType.STRING):
            call = "files" if what == "a source" else "jsonl"
            raise self.wrong(what, f"Write {call}({self.source.slice(start)}).")
        if not self.word():
            raise self.wrong(what, "Write its name and its options: files('in/*.csv'), jsonl('out.jsonl').")
        name = tree.Word(self.take().text, span=start)
        args: list[tree.Expression | tree.Named] = []
        if self.sees_mark(TokenType.L_PAREN):
            for arg in self.parenthesised(self._argument, empty=True):
                if isinstance(arg, tree.Star):
                    raise self.error("SQL.STAR", arg.span)
                args.append(arg)
        return tree.Connector(name, tuple(args), span=self.since(start))

    def _set(self, start: Span) -> tree.Statement:
        option = self.name("the name of an option")
        while self.accept_mark(TokenType.DOT):
            token = self.peek()
            if token is None:
                raise self.wrong("the rest of the option's name")
            option = tree.Word(f"{option.text}.{self.take().text}", span=self.since(option.span))
        if not self.accept_mark(TokenType.EQ):
            raise self.wrong("'='", f"Write SET {option.text} = value.")
        return tree.SetOption(option, self.expression(), span=self.since(start))
