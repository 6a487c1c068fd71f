"""The algebra of layouts, as CuTe has it."""

from typing import Any


class Layout:
    """
    A layout (or a swizzle, or unknown numbers): shape:stride, a function from coordinates to indices.
    """

    def __init__(self, shape: object, stride: object = None) -> None: ...

    def __call__(self, *coordinate: object) -> Any:
        """The index of a coordinate; with None in it, a slice."""

    @property
    def shape(self) -> Any: ...

    @property
    def stride(self) -> Any: ...

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    def __eq__(self, other: object, /) -> bool: ...

    def __hash__(self) -> int: ...

def evaluate(text: str, **names: object) -> Any:
    """
    An expression of the language; keywords are what its names stand for.

    >>> gf.layout.evaluate('composition(A, 4:2)', A=gf.layout.Layout((8, 4), (1, 8)))
    Layout('4:2')
    """

def make_layout(*arguments: object) -> Any:
    """
    make_layout(shape[, stride]): a layout, compact without a stride; or (A, B, ..): layouts as the modes of one
    """

def make_ordered_layout(*arguments: object) -> Any:
    """
    make_ordered_layout(shape, order): compact, strides in the order of the numbers
    """

def make_layout_like(*arguments: object) -> Any:
    """make_layout_like(A): compact, strides in the order of those of A"""

def compact_col_major(*arguments: object) -> Any:
    """compact_col_major(shape[, first]): strides, the first mode fastest"""

def compact_row_major(*arguments: object) -> Any:
    """compact_row_major(shape[, first]): strides, the last mode fastest"""

def make_shape(*arguments: object) -> Any:
    """make_shape(a, b, ..): the tuple (a,b,..)"""

def make_stride(*arguments: object) -> Any:
    """make_stride(a, b, ..): the tuple (a,b,..)"""

def make_coord(*arguments: object) -> Any:
    """make_coord(a, b, ..): the tuple (a,b,..)"""

def make_tile(*arguments: object) -> Any:
    """make_tile(a, b, ..): the tuple (a,b,..), a tiler"""

def shape(*arguments: object) -> Any:
    """shape(A[, mode, ..]): the shape of A, or of a mode of it"""

def stride(*arguments: object) -> Any:
    """stride(A[, mode, ..]): the strides of A, or of a mode of it"""

def size(*arguments: object) -> Any:
    """size(A[, mode, ..]): how many coordinates A has, or a mode of it"""

def cosize(*arguments: object) -> Any:
    """cosize(A[, mode, ..]): one more than the largest index"""

def rank(*arguments: object) -> Any:
    """rank(A[, mode, ..]): how many modes A has, or a mode of it"""

def depth(*arguments: object) -> Any:
    """depth(A[, mode, ..]): levels of parentheses"""

def congruent(*arguments: object) -> Any:
    """congruent(A, B): whether the hierarchies are the same"""

def weakly_congruent(*arguments: object) -> Any:
    """weakly_congruent(A, B): whether the hierarchy of B refines that of A"""

def compatible(*arguments: object) -> Any:
    """compatible(A, B): whether coordinates of A are coordinates of B"""

def crd2idx(*arguments: object) -> Any:
    """
    crd2idx(coordinate, A): the index of a coordinate; also (coordinate, shape[, stride])
    """

def idx2crd(*arguments: object) -> Any:
    """
    idx2crd(index, A): the coordinate of an index; also (index, shape[, stride])
    """

def crd2crd(*arguments: object) -> Any:
    """
    crd2crd(coordinate, from, to): the same coordinate in another shape of that size
    """

def slice(*arguments: object) -> Any:
    """slice(coordinate, A): the modes where the coordinate has _"""

def dice(*arguments: object) -> Any:
    """dice(coordinate, A): the modes where the coordinate has a number"""

def get(*arguments: object) -> Any:
    """get(A, mode, ..): a mode, and a mode of that, .."""

def flatten(*arguments: object) -> Any:
    """flatten(A): without hierarchy"""

def unflatten(*arguments: object) -> Any:
    """unflatten(A, profile): with the hierarchy of the profile"""

def coalesce(*arguments: object) -> Any:
    """coalesce(A[, profile]): the same function in as few modes as possible"""

def filter_zeros(*arguments: object) -> Any:
    """filter_zeros(A): modes of stride 0 get size 1"""

def filter(*arguments: object) -> Any:
    """filter(A[, profile]): without modes of stride 0 or size 1"""

def group_modes(*arguments: object) -> Any:
    """group_modes(A, begin, end): these modes as one; end -1: to the last"""

def group(*arguments: object) -> Any:
    """group(A, begin, end): group_modes"""

def append(*arguments: object) -> Any:
    """
    append(A[, rank][, B]): B (or 1:0) as a further mode, or as often as it takes to have that rank
    """

def prepend(*arguments: object) -> Any:
    """prepend(A[, rank][, B]): the same in front"""

def replace(*arguments: object) -> Any:
    """replace(A, mode, B): B in the place of that mode"""

def take(*arguments: object) -> Any:
    """take(A, begin, end): these modes alone"""

def select(*arguments: object) -> Any:
    """select(A, mode, ..): these modes in this order"""

def zip(*arguments: object) -> Any:
    """zip(A[, B]): modes of modes transposed"""

def composition(*arguments: object) -> Any:
    """
    composition(A, B): c -> A(B(c)), where B may be a tiler; also (swizzle, offset, A)
    """

def complement(*arguments: object) -> Any:
    """
    complement(A[, shape]): the indices A leaves out, up to its cosize or the shape
    """

def right_inverse(*arguments: object) -> Any:
    """right_inverse(A): A(result(i)) == i"""

def left_inverse(*arguments: object) -> Any:
    """left_inverse(A): result(A(i)) == i"""

def nullspace(*arguments: object) -> Any:
    """nullspace(A): the coordinates that A sends to 0"""

def max_common_layout(*arguments: object) -> Any:
    """
    max_common_layout(A, B): where both are the identity, as far as it goes
    """

def max_common_vector(*arguments: object) -> Any:
    """max_common_vector(A, B): how many elements lie side by side in both"""

def logical_divide(*arguments: object) -> Any:
    """logical_divide(A, tiler): ((tile,rest),..) by mode"""

def zipped_divide(*arguments: object) -> Any:
    """zipped_divide(A, tiler): ((tile,..),(rest,..))"""

def tiled_divide(*arguments: object) -> Any:
    """tiled_divide(A, tiler): ((tile,..),rest,..)"""

def flat_divide(*arguments: object) -> Any:
    """flat_divide(A, tiler): (tile,..,rest,..)"""

def logical_product(*arguments: object) -> Any:
    """logical_product(A, tiler): (block,repetitions)"""

def zipped_product(*arguments: object) -> Any:
    """zipped_product(A, tiler): ((block,..),(repetitions,..))"""

def tiled_product(*arguments: object) -> Any:
    """tiled_product(A, tiler): ((block,..),repetition,..)"""

def flat_product(*arguments: object) -> Any:
    """flat_product(A, tiler): (block,..,repetition,..)"""

def blocked_product(*arguments: object) -> Any:
    """blocked_product(A, B): blocks of A beside each other as B says"""

def raked_product(*arguments: object) -> Any:
    """raked_product(A, B): blocks of A interleaved as B says"""

def tile_to_shape(*arguments: object) -> Any:
    """tile_to_shape(A, shape[, order]): A repeated to that shape"""

def upcast(*arguments: object) -> Any:
    """upcast(A, n): of elements n times as wide"""

def downcast(*arguments: object) -> Any:
    """downcast(A, n): of elements n times as narrow"""

def recast(*arguments: object) -> Any:
    """recast(A, old bits, new bits): of elements of another width"""

def recast_layout(*arguments: object) -> Any:
    """recast_layout(A, old bits, new bits): recast"""

def make_layout_tv(*arguments: object) -> Any:
    """make_layout_tv(threads, values): (tiler, layout of (thread,value))"""

def local_tile(*arguments: object) -> Any:
    """
    local_tile(A, tiler, coordinate[, projection]): the tile at that coordinate, and where it begins
    """

def local_partition(*arguments: object) -> Any:
    """
    local_partition(A, threads, index[, projection]): what that thread has when threads take elements in turns
    """

def partition_tv(*arguments: object) -> Any:
    """partition_tv(A, (tiler, tv)): ((thread,value),rest)"""

def vector_width(*arguments: object) -> Any:
    """
    vector_width(A, (tiler, tv), bits, alignment): elements of so many bits that a thread can access at once in memory so aligned (bytes), and why
    """

def functions() -> list[str]:
    """The names of all functions of the algebra."""
