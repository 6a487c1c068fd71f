"""Runs a reference function on .npy files, for gpuforge: python3 -I python_reference.py FOLDER.

FOLDER/request.json says which function of which file, with which inputs (in0.npy, in1.npy, ..) and sizes; the results are
written as out0.npy, out1.npy, .. in double. Needs NumPy only where the function wants its arrays.
"""
import array
import ast
import importlib.util
import inspect
import json
import os
import struct
import sys
import traceback

# Compiled files are known by the second and the size of their source: a function that is changed twice in a second would
# stay what it was. None are written, then, and nothing lies in the user's folder.
sys.dont_write_bytecode = True
MISSING_NUMPY = 3


def fail(text, code=1):
    print(text, file=sys.stderr)
    sys.exit(code)


def load_lists(path):
    with open(path, "rb") as file:
        content = file.read()
    length = struct.unpack("<H", content[8:10])[0]
    header = ast.literal_eval(content[10:10 + length].decode())
    values = array.array({"<f8": "d", "<i8": "q"}[header["descr"]], content[10 + length:]).tolist()
    for extent in reversed(header["shape"][1:]):
        values = [values[at:at + extent] for at in range(0, len(values), extent)] if extent else []
    return values if header["shape"] else values[0]


def flatten(value, shape, what):
    """The elements in row-major order; complains when the nesting is not the shape."""
    if not shape:
        return [float(value)]
    try:
        length = len(value)
    except TypeError:
        fail(f"{what} should have {len(shape)} more axes where {value!r} is")
    if length != shape[0]:
        fail(f"{what} should have extent {shape[0]} where it has {length}")
    return [element for item in value for element in flatten(item, shape[1:], what)]


def save(path, values, shape):
    header = repr({"descr": "<f8", "fortran_order": False, "shape": tuple(shape)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(values)


def main():
    folder = sys.argv[1]
    with open(os.path.join(folder, "request.json")) as file:
        request = json.load(file)
    numpy = None
    if not request["lists"]:
        try:
            import numpy
        except ImportError as error:
            fail(f"{sys.executable} has no NumPy ({error})", MISSING_NUMPY)
    load = numpy.load if numpy else load_lists
    inputs = [load(os.path.join(folder, f"in{i}.npy")) for i in range(request["inputs"])]

    path = request["file"]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("reference", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, request["function"], None)
    if not callable(function):
        fail(f"{path} has no function '{request['function']}'")
    accepted = inspect.signature(function).parameters
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in accepted.values())
    sizes = {name: value for name, value in request["values"].items() if takes_any or name in accepted}
    results = function(*inputs, **sizes)

    outputs = request["outputs"]
    if not isinstance(results, tuple):
        results = (results,)
    if len(results) != len(outputs):
        fail(f"{request['function']} returned {len(results)} results, and there are {len(outputs)} outputs")
    for i, (result, output) in enumerate(zip(results, outputs)):
        shape, what = output["shape"], f"the result for {output['name']}"
        if numpy:
            result = numpy.asarray(result, dtype=numpy.float64)
            if list(result.shape) != shape:
                fail(f"{what} should have shape {shape}, and it has {list(result.shape)}")
            values = numpy.ascontiguousarray(result).tobytes()
        else:
            values = array.array("d", flatten(result, shape, what)).tobytes()
        save(os.path.join(folder, f"out{i}.npy"), values, shape)


try:
    main()
except Exception as error:
    place = error.__traceback__
    while place.tb_next and (place.tb_frame.f_code.co_filename == __file__ or "importlib" in place.tb_frame.f_code.co_filename):
        place = place.tb_next
    traceback.print_exception(type(error), error, place)
    sys.exit(1)
