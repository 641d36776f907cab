"""Programs to machines: LLVM IR, native code, and the registry of what a program can be emitted as."""
