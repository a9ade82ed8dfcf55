"""Operations that change data: one function each, keyword-only, each in its own transaction."""
