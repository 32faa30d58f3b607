"""The columns that an expression can see, by the names that people give them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from waterclock.lang.sql import tree
from waterclock.lang.sql.bind.context import Context
from waterclock.lang.sql.names import listed, match, nearest
from waterclock.lang.sql.source import Span
from waterclock.plan import Node

LIFETIME = {"valid_from": " Did you mean START()?", "valid_to": " Did you mean END()?"}
"""Results have columns of these names, so people ask for them."""


@dataclass(frozen=True)
class Column:
    name: str
    """As people know it."""
    physical: str
    """As the plan knows it."""
    type: str
    merged: bool = False
    """The right side of USING: seen only when it is qualified."""


@dataclass(frozen=True)
class Visible:
    """A relation of FROM."""

    alias: str
    columns: tuple[Column, ...]
    start: str | None = None
    """The hidden column with the start of its events, if the query asks for it."""
    end: str | None = None
    time: str | None = None
    """The column that events of the declared stream start at."""

    def renamed(self, names: dict[str, str]) -> Visible:
        columns = tuple(replace(c, physical=names.get(c.physical, c.physical)) for c in self.columns)
        start, end = (None if name is None else names.get(name, name) for name in (self.start, self.end))
        return replace(self, columns=columns, start=start, end=end)


@dataclass(frozen=True)
class Rows:
    """A plan, and the relations that its columns belong to."""

    plan: Node
    visible: tuple[Visible, ...]
    gone: dict[str, str] = field(default_factory=dict)
    """Right sides of one-sided joins, and the kind of join."""
    window: tree.Applied | None = None
    """A window function in FROM: TUMBLE(...), HOP(...), SESSION(...)."""

    def resolve(self, context: Context, name: tree.Name) -> Column:
        if len(name.parts) > 2:
            raise context.unsupported(name.span, "A name of more than two parts", "Write relation.column.")
        relations = self.visible if len(name.parts) == 1 else (self.relation(context, name.parts[0], name.span),)
        qualified = len(name.parts) == 2
        for exactly in (True, False):
            found = [
                (relation, column)
                for relation in relations
                for column in relation.columns
                if (column.name == name.last if exactly else column.name.lower() == name.last.lower())
                and (qualified or not column.merged)
            ]
            if len(found) == 1:
                return found[0][1]
            if found:
                choices = " or ".join(f"{relation.alias}.{column.name}" for relation, column in found)
                raise context.error("SQL.AMBIGUOUS", name.span, column=name.last, choices=choices)
        names = [column.name for relation in relations for column in relation.columns if not column.merged]
        where = " or ".join(relation.alias for relation in relations)
        raise context.error(
            "SQL.UNKNOWN_COLUMN", name.span, column=name.last, where=where, choices=listed(names),
            guess=LIFETIME.get(name.last.lower()) or nearest(name.last, names),
        )  # fmt: skip

    def relation(self, context: Context, alias: str, span: Span) -> Visible:
        known = {relation.alias: relation for relation in self.visible}
        found = match(alias, known)
        if len(found) == 1:
            return known[found[0]]
        for gone in match(alias, self.gone):
            raise context.error("SQL.ONE_SIDED", span, relation=gone, kind=self.gone[gone])
        guess = nearest(alias, list(known))
        raise context.error("SQL.UNKNOWN_RELATION", span, relation=alias, choices=listed(known), guess=guess)

    def starred(self, context: Context, star: tree.Star) -> list[Column]:
        """The columns of ``*`` or ``relation.*``."""
        relations = self.visible if star.relation is None else (self.relation(context, star.relation, star.span),)
        every = [c for relation in relations for c in relation.columns if star.relation is not None or not c.merged]
        left_out = set()
        for word in star.without:
            found = match(word.text, [column.name for column in every])
            if not found:
                names = [column.name for column in every]
                raise context.error(
                    "SQL.UNKNOWN_COLUMN", word.span, column=word.text, where="*", choices=listed(names),
                    guess=nearest(word.text, names),
                )  # fmt: skip
            left_out |= set(found)
        return [column for column in every if column.name not in left_out]


def fresh(name: str, taken: set[str]) -> str:
    """A name that is not taken, and takes it."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    taken.add(found)
    return found
