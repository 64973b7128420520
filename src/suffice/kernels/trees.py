"""Sort suffixes and build the compact tree of their prefixes. Theory: docs/theory.md, section 5."""

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import jit


@jit
def sort_by_letter(word, order, letters, out):
    """Sort the suffixes `word[e] · rest` from the order of the rests, by one stable counting sort."""
    place = np.zeros(letters + 1, dtype=np.int64)
    for e in range(order.size):
        place[word[e] + 1] += 1
    for x in range(letters):
        place[x + 1] += place[x]
    for i in range(order.size):
        x = word[order[i]]
        out[place[x]] = order[i]
        place[x] += 1


@jit
def leaves_of(word, order):
    """Return the suffix of each episode, an example of each suffix, and its common prefix with the one before.

    Distinct suffixes are numbered in order; the common prefix is given by its length.
    """
    length = word.shape[0]
    leaf = np.empty(order.size, dtype=np.uint32)
    example = np.empty(order.size, dtype=np.uint32)
    common = np.empty(order.size, dtype=np.int32)
    m = 0
    for i in range(order.size):
        same = 0
        if i > 0:
            while same < length and word[same, order[i]] == word[same, order[i - 1]]:
                same += 1
        if i == 0 or same < length:
            common[m], example[m] = same, order[i]
            m += 1
        leaf[order[i]] = m - 1
    return leaf, example[:m].copy(), common[:m].copy()


@jit
def prefix_tree(common, length):
    """Return the compact tree of the distinct suffixes in preorder: (end, parent, depth, first leaf, node of a leaf).

    The subtree of a node is node..end−1; its edge stands for the prefixes of lengths depth[parent]+1..depth, which
    begin the same suffixes. Node 0 is the root.
    """
    m = common.size
    inner_low = np.empty(m + 1, dtype=np.int64)  # first and last leaf, and depth, of each inner node when it is closed
    inner_high = np.empty(m + 1, dtype=np.int64)
    inner_depth = np.empty(m + 1, dtype=np.int32)
    opened = np.zeros(m + 1, dtype=np.int64)  # inner nodes that begin at each leaf
    low, deep = np.empty(length + 2, dtype=np.int64), np.empty(length + 2, dtype=np.int32)
    low[0], deep[0], top, closed = 0, 0, 0, 0
    for i in range(1, m + 1):
        depth = common[i] if i < m else -1
        begin = i - 1
        while top >= 0 and deep[top] > depth:
            inner_low[closed], inner_high[closed], inner_depth[closed] = low[top], i, deep[top]
            opened[low[top]] += 1
            begin = low[top]
            closed += 1
            top -= 1
        if i < m and (top < 0 or deep[top] < depth):
            top += 1
            low[top], deep[top] = begin, depth
    first = np.zeros(m + 1, dtype=np.int64)  # the first node that begins at each leaf, in preorder
    for i in range(m):
        first[i + 1] = first[i] + opened[i] + 1
    size = first[m]
    end, depth_of, parent = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    leaf_node = np.empty(m, dtype=np.uint32)
    first_leaf = np.empty(size, dtype=np.uint32)
    for i in range(m):
        leaf_node[i] = first[i + 1] - 1
        first_leaf[first[i] : first[i + 1]] = i
        end[first[i + 1] - 1], depth_of[first[i + 1] - 1] = first[i + 1], length
    for c in range(closed):  # the deepest node of a leaf is closed first and comes last
        opened[inner_low[c]] -= 1
        node = first[inner_low[c]] + opened[inner_low[c]]
        end[node], depth_of[node] = first[inner_high[c]], inner_depth[c]
    up = -1
    for v in range(size):
        while up >= 0 and end[up] <= v:
            up = parent[up]
        parent[v] = up
        up = v
    return end, parent, depth_of, first_leaf, leaf_node


@jit
def add_paths(nodes, counts, parent, row, sign):
    """Add or subtract suffixes, given by leaf and count, along their paths to the root."""
    for i in range(nodes.size):
        v = np.int64(nodes[i])
        while v >= 0:
            row[v] += sign * counts[i]
            v = parent[v]
