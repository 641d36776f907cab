"""The verb explore: a program as one page for a browser, with everything that is known of its derivatives.

`data` says what is shown, as one document of JSON with an evaluator in JavaScript; `page` has the markup, the styles and the
scripts that show it, `command` makes one file of both. No other room imports this one.
"""
