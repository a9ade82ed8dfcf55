"""How many whole columns of ratings are built: looking up single values must not build any."""

from tiebreak.formats.coded import CodedColumn


def columns_built(monkeypatch) -> list[int]:
    """Return a list that grows by the length of each column that is built from now on."""
    built: list[int] = []
    build = CodedColumn.values.fget

    def counted(column: CodedColumn):
        built.append(len(column))
        return build(column)

    monkeypatch.setattr(CodedColumn, "values", property(counted))
    return built
