"""The commands themselves: the evaluating verbs made from their rows, and the small verbs, one file each.

A verb of its own is a module here with a `command`, and its name in `adcli.main`; one that evaluates a derivative is a row in
`adcli.task.verbs` and needs no file here. Nothing but `adcli.main` imports this room.
"""
