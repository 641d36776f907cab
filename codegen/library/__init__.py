"""Programs as code of LLVM: IR, assembly, objects and shared libraries, with the interface of C or of CasADi's external functions
(`casadi`). A linker makes the libraries; no compiler of C is needed.
"""
