"""The verb why: what made a NaN, an infinity or an exact zero, in the words of the program.

`command` takes the options and writes the paragraphs; `groups` finds what there is to tell; `causes` puts what
`adcli.lang.analyse` finds into sentences. No other room imports this one.
"""
