"""The shape of every command line: options in groups by purpose, what was typed as one frozen object, and faults of usage.

Only this room and `adcli.main` ask click anything. It knows no verb: verbs take their options from here.
"""
