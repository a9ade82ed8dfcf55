"""Operations that all kinds of machine raters share."""
