import type { Tree } from '@vscode/tree-sitter-wasm'

/** Named nodes of a syntax tree in source order, as arrays that are indexed by node number. Node 0 is the root. */
export interface SyntaxTree {
  readonly count: number
  /** Number of the node's type in {@link NodeTypes.names}. */
  readonly type: Uint16Array
  /** Offsets in the text, in UTF-16 units; `end` is excluded. */
  readonly start: Uint32Array
  readonly end: Uint32Array
  /** -1 for the root. */
  readonly parent: Int32Array
  readonly firstChild: Int32Array
  readonly nextSibling: Int32Array
  /** Number of the node's field in its parent; 0 if it has none. */
  readonly field: Uint16Array
  /** True if the parser had to skip or insert something. */
  readonly hasError: boolean
}

/** Type of nodes that the parser could not read. */
export const ERROR_TYPE = 65_535

/** Copies the named nodes of a parsed tree. Returns null if there are more than `maxNodes` nodes. */
export function flatten(tree: Tree, isNamed: Uint8Array, maxNodes: number): SyntaxTree | null {
  const root = tree.rootNode
  const size = Math.min(root.descendantCount + 1, maxNodes)
  const type = new Uint16Array(size)
  const start = new Uint32Array(size)
  const end = new Uint32Array(size)
  const parent = new Int32Array(size)
  const firstChild = new Int32Array(size).fill(-1)
  const nextSibling = new Int32Array(size).fill(-1)
  const field = new Uint16Array(size)
  /** Last child that was added to a node, to link its next sibling. */
  const lastChild = new Int32Array(size).fill(-1)
  const cursor = root.walk()
  let count = 0
  let above = -1
  const stack: number[] = []
  try {
    for (;;) {
      const id = cursor.nodeTypeId
      if (isNamed[id] === 1 || id === ERROR_TYPE) {
        if (count >= size) return null
        const here = count++
        type[here] = id
        start[here] = cursor.startIndex
        end[here] = cursor.endIndex
        parent[here] = above
        field[here] = cursor.currentFieldId
        if (above >= 0) {
          const before = lastChild[above] as number
          if (before < 0) firstChild[above] = here
          else nextSibling[before] = here
          lastChild[above] = here
        }
        if (cursor.gotoFirstChild()) {
          stack.push(above)
          above = here
          continue
        }
      }
      while (!cursor.gotoNextSibling()) {
        if (!cursor.gotoParent()) {
          const hasError = root.hasError
          return { count, type, start, end, parent, firstChild, nextSibling, field, hasError }
        }
        above = stack.pop() ?? -1
      }
    }
  } finally {
    cursor.delete()
  }
}
