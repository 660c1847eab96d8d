import type { Tree } from '@vscode/tree-sitter-wasm'
import { type CursorFunctions, openCursor } from './tree-cursor.ts'

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
const ERROR_TYPE = 65_535

/** Prefix of a string literal of Python that contains expressions. */
const FORMATTED = /^[a-z]{0,2}[ft]/i

/** Copies the named nodes of a parsed tree, except for those inside of literals. Returns null if there are more than `maxNodes` nodes. */
export function flatten(
  tree: Tree,
  text: string,
  functions: CursorFunctions,
  { named, leaf }: { readonly named: Uint8Array; readonly leaf: Uint8Array },
  maxNodes: number
): SyntaxTree | null {
  const { gotoFirstChild, gotoNextSibling, gotoParent, typeId, start: startIndex, end: endIndex, fieldId } = functions
  const root = tree.rootNode
  const { hasError } = root
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
  let count = 0
  let above = -1
  const at = openCursor(tree)
  try {
    for (;;) {
      const id = typeId(at)
      if (named[id] === 1 || id === ERROR_TYPE) {
        if (count >= size) return null
        const here = count++
        type[here] = id
        start[here] = startIndex(at)
        end[here] = endIndex(at)
        parent[here] = above
        field[here] = fieldId(at)
        if (above >= 0) {
          const before = lastChild[above] as number
          if (before < 0) firstChild[above] = here
          else nextSibling[before] = here
          lastChild[above] = here
        }
        const isLeaf = leaf[id] === 1 || (leaf[id] === 2 && !FORMATTED.test(text.slice(start[here], end[here])))
        if (!isLeaf && gotoFirstChild(at) === 1) {
          above = here
          continue
        }
      }
      while (gotoNextSibling(at) !== 1) {
        if (gotoParent(at) !== 1) return { count, type, start, end, parent, firstChild, nextSibling, field, hasError }
        above = parent[above] as number
      }
    }
  } finally {
    functions.delete(at)
  }
}
