// The extension module gpuforge._core.
#include "python/bind.h"

NB_MODULE(_core, m) {
  using namespace gpuforge::python;
  nb::set_leak_warnings(false);  // arrays that live to the interpreter's end are no mistake of the user's
  m.doc() = "The C++ library gpuforge, as Python sees it. Import gpuforge instead.";
  bind_base(m);
  bind_device(m);
  bind_array(m);
  bind_ops(m);
  bind_fuse(m);
  bind_jit(m);
  bind_layout(m);
  bind_memory(m);
  bind_sched(m);
  bind_lab(m);
  bind_torch(m);
}
