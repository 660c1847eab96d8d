import { readFile } from 'node:fs/promises'
import type { Tree } from '@vscode/tree-sitter-wasm'

/** Part of the types of WebAssembly, which the types of Node do not have. */
interface Compiled {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: Exports }
}

type Exports = Readonly<Record<string, unknown>>
type TreeSitter = typeof import('@vscode/tree-sitter-wasm')

/** Function of the tree-sitter library that reads or moves the open cursor. `tree`: address of its tree. */
type CursorFunction = (tree: number) => number

/**
 * Cursor functions of the compiled tree-sitter library. Its JavaScript class copies the state of the cursor into and out of a
 * buffer of the library around each call, which takes longer than the call. Here the state stays in that buffer, so that no
 * other function of the library may be called between {@link openCursor} and `delete`.
 */
export interface CursorFunctions {
  /** 1 if the cursor moved, else 0. */
  readonly gotoFirstChild: CursorFunction
  readonly gotoNextSibling: CursorFunction
  readonly gotoParent: CursorFunction
  readonly typeId: CursorFunction
  /** Offsets in UTF-16 units. */
  readonly start: CursorFunction
  readonly end: CursorFunction
  /** Number of the node's field in its parent; 0 if it has none. */
  readonly fieldId: CursorFunction
  readonly delete: CursorFunction
}

/** The library is instantiated once in a thread. */
let functions: Promise<CursorFunctions> | undefined

/** Initialises the library from its compiled program at `path`. Rejects if another part of the thread has done so. */
export async function initialise(library: TreeSitter, path: string): Promise<CursorFunctions> {
  functions ??= instantiate(library, path)
  return await functions
}

async function instantiate({ Parser }: TreeSitter, path: string): Promise<CursorFunctions> {
  const { Module, Instance } = (globalThis as unknown as { readonly WebAssembly: Compiled }).WebAssembly
  const program = new Module(await readFile(path))
  let exports: Exports | undefined
  // The types of the package do not have this option of Emscripten.
  const options: object = {
    instantiateWasm(imports: object, receive: (instance: object, program: object) => void) {
      const instance = new Instance(program, imports)
      exports = instance.exports
      receive(instance, program)
      return exports
    }
  }
  await Parser.init(options as Parameters<typeof Parser.init>[0])
  if (exports === undefined) throw new Error('tree-sitter: another part of this thread has initialised the library')
  return cursorFunctions(exports)
}

/** Throws if the library does not have the functions. */
function cursorFunctions(library: Exports): CursorFunctions {
  const named = (name: string): CursorFunction => {
    const found = library[`ts_tree_cursor_${name}_wasm`]
    if (typeof found !== 'function') throw new Error(`tree-sitter: the library has no cursor function ${name}`)
    return found as CursorFunction
  }
  return {
    gotoFirstChild: named('goto_first_child'),
    gotoNextSibling: named('goto_next_sibling'),
    gotoParent: named('goto_parent'),
    typeId: named('current_node_type_id'),
    start: named('start_index'),
    end: named('end_index'),
    fieldId: named('current_field_id'),
    delete: named('delete')
  }
}

/** Opens the library's cursor at the root of a tree. Returns the address of the tree. */
export function openCursor(tree: Tree): number {
  const address: unknown = (tree as unknown as readonly unknown[])[0]
  if (typeof address !== 'number') throw new Error('tree-sitter: a tree has no address')
  // The state of the new cursor is in the buffer afterwards.
  tree.rootNode.walk()
  return address
}
