"""The verb plot: outputs and their derivatives drawn against one input, or contours against two.

`command` takes the options, `ranges` says what varies and what stands still, `breaks` finds where a curve is broken, `plots`
makes the pictures. From Python: `adcli.plot.plots.picture`. Fits draw their curves with it too.
"""
