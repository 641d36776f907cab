"""Programs in the colours of editors: one table of the kinds of tokens, and what is made of it.

`kinds` says what every token of a text is, by the scanner of the language; `textmate`, `vim` and `lexer` (for Pygments) write
the same table as other programs want it, and `vscode` a folder that is an extension. Nothing here reads a token by itself:
change what a token is in `adcli.lang.syntax.scan`, and how it is coloured in `kinds`.
"""
