"""Programs for people: formulas in LaTeX, and graphs; and how mathematics spells names, numbers and operations.

`notation` spells, `graph` is a program as plain nodes and edges, and each other file is one kind of document.
The text depends on the program alone. Nothing here computes, or runs LaTeX or Graphviz.
"""
