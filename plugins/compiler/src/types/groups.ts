/**
 * Returns the strongly connected components of a graph, callees before their callers (Tarjan's algorithm, without
 * recursion). `edges` returns what a node refers to.
 */
export function groupsOf<Node>(nodes: readonly Node[], edges: (node: Node) => Iterable<Node>): Node[][] {
  const groups: Node[][] = []
  const index = new Map<Node, number>()
  const low = new Map<Node, number>()
  const open: Node[] = []
  const isOpen = new Set<Node>()
  for (const root of nodes) {
    if (index.has(root)) continue
    const path = [enter(root)]
    for (let frame = path.at(-1); frame !== undefined; frame = path.at(-1)) {
      const next = frame.rest.next()
      if (next.done !== true) {
        const target = next.value
        if (!index.has(target)) path.push(enter(target))
        else if (isOpen.has(target)) lower(frame.node, index.get(target) as number)
        continue
      }
      path.pop()
      const { node } = frame
      const parent = path.at(-1)
      if (parent !== undefined) lower(parent.node, low.get(node) as number)
      if (low.get(node) === index.get(node)) groups.push(close(node))
    }
  }
  return groups

  function enter(node: Node): { readonly node: Node; readonly rest: Iterator<Node> } {
    index.set(node, index.size)
    low.set(node, index.size - 1)
    open.push(node)
    isOpen.add(node)
    return { node, rest: edges(node)[Symbol.iterator]() }
  }

  function lower(node: Node, value: number): void {
    if (value < (low.get(node) as number)) low.set(node, value)
  }

  function close(node: Node): Node[] {
    const group: Node[] = []
    for (let each = open.pop(); each !== undefined; each = open.pop()) {
      isOpen.delete(each)
      group.push(each)
      if (each === node) break
    }
    return group.reverse()
  }
}
