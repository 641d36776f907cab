"""Programs as shared libraries: a module of LLVM IR with an interface that other programs call, and the link that makes a
library of its object code, without a compiler of C.

`plain` is the interface of C, `casadi` that of CasADi's external functions; `link` runs a linker.
"""
