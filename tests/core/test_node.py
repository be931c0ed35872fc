"""Walks over the graph: each node once, as far as somebody asks."""

from helpers.plans import leaf

from flambeau.core.node import inputs_first, toposort, walk_nodes


def inputs_of(node):
    return node.inputs


def test_each_node_is_reached_once():
    x = leaf(3)
    y = x.exp()
    root = ((y + y) * y).node
    nodes = list(walk_nodes([root], inputs_of))
    assert nodes[0] is root and len(nodes) == 4
    assert set(nodes) == set(toposort([root]))
    assert [n.op.name for n in walk_nodes([y.node, y.node], inputs_of)] == ["exp", "buffer"]


def test_a_walk_goes_no_further_than_it_is_asked():
    y = leaf(3)
    for _ in range(5):
        y = y.sin()
    asked = []

    def onward(node):
        asked.append(node)
        return node.inputs

    walk = walk_nodes([y.node], onward)
    assert next(walk) is y.node and not asked
    assert next(walk) is y.node.inputs[0] and asked == [y.node]
    assert list(walk_nodes([y.node], lambda n: ())) == [y.node]


def test_inputs_come_first():
    x, z = leaf(3), leaf(3)
    y = x.exp()
    root = (y * z + y).node
    assert list(inputs_first([y.node, root, root], inputs_of)) == toposort([y.node, root])
    known = {y.node}
    assert list(inputs_first([root], lambda n: (i for i in n.inputs if i not in known))) == [
        z.node,
        root.inputs[0],
        root,
    ]
