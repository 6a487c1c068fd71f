// Tiles, coalesced groups and block barriers as the toolkit's header writes them.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void groups(unsigned* out, const unsigned* in, unsigned n) {
  __shared__ unsigned words[64];
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<8>(block);
  words[block.thread_rank()] = in[block.thread_rank()];
  block.sync();
  unsigned sum = cg::reduce(tile, words[63 - block.thread_rank()], cg::plus<unsigned>());
  block.sync();
  if (tile.meta_group_rank() % 2 == 0) {
    words[block.thread_rank()] = sum;
    tile.sync();
    sum += words[tile.meta_group_rank() * 8 + (tile.thread_rank() + 1) % 8] + tile.shfl_xor(sum, 1);
  }
  if (in[block.thread_rank()] % 3 == 0) {
    const cg::coalesced_group here = cg::coalesced_threads();
    sum += here.size() * n + here.shfl(sum, 0) * 0;
    here.sync();
  }
  out[block.thread_rank()] = sum;
}
