"""Results at points, of any rank, with what is to be said of them: notes, digits, bounds.

`evaluation` computes, `reporter` looks on and says what is to be noted, `results` writes; digits and enclosures are other forms
of the same loop. The room knows no table of rows and no single verb.
"""
