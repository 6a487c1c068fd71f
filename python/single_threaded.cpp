// Debian's libyaml-cpp.a, whose objects travel inside ours, is compiled for programs: it reaches glibc's
// __libc_single_threaded in a way that a shared object cannot bind to another one's. A definition of our own,
// which nobody outside sees, is bound instead. It says that there may be threads, which is always right.
extern "C" {
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;
}
