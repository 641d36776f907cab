"""What a call gives, to be compared with what another gives."""
import numpy as np


def outcome(call):
    """All of what a call gives, or says."""
    try:
        found = call()
    except Exception as error:
        return type(error), str(error), getattr(error, "help", None)
    return type(found), [(name, type(x), np.shape(x), np.asarray(x).tobytes()) for name, x in found.items()]
