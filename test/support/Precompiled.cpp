// Only the owner of Precompiled.h.
