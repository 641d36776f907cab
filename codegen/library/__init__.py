"""Programs as code of LLVM: IR, assembly, objects and shared libraries, with the interface of C or of CasADi's external functions
(`casadi`). `link` runs a linker; no compiler of C is needed.
"""
