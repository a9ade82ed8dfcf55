"""Operations that change data: one function per operation, keyword-only, in its own transaction."""
