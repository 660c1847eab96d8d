/** Maximum depth of blocks, and of parentheses. */
export const MAX_NESTING = 100

/** Part of a template. */
export type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'print'; readonly pipe: Pipe }
  | Block
  | { readonly kind: 'break' }
  | { readonly kind: 'continue' }

export interface Block {
  readonly kind: 'if' | 'with' | 'range'
  readonly pipe: Pipe
  readonly yes: Node[]
  /** Nodes of `{{ else }}`. */
  readonly no: Node[]
}

/** Commands, each of which receives the result of the one before as its last argument. */
export interface Pipe {
  /** Variables that get the result; for `range`, the key and the element. */
  readonly names: readonly string[]
  /** True for `:=`, which creates the variables; false for `=`. */
  readonly declares: boolean
  readonly commands: readonly (readonly Operand[])[]
}

export type Operand =
  | { readonly kind: 'value'; readonly value: string | number | boolean | null }
  | { readonly kind: 'dot'; readonly path: readonly string[] }
  | { readonly kind: 'variable'; readonly name: string; readonly path: readonly string[] }
  | { readonly kind: 'group'; readonly pipe: Pipe; readonly path: readonly string[] }
  | { readonly kind: 'function'; readonly name: string }

/** Yields the names of all fields of a template. */
export function* fieldsOf(nodes: readonly Node[]): Generator<string, void> {
  for (const node of nodes) {
    if (!('pipe' in node)) continue
    yield* fieldsOfPipe(node.pipe)
    if (node.kind === 'print') continue
    yield* fieldsOf(node.yes)
    yield* fieldsOf(node.no)
  }
}

function* fieldsOfPipe({ commands }: Pipe): Generator<string, void> {
  for (const operand of commands.flat()) {
    if (operand.kind === 'group') yield* fieldsOfPipe(operand.pipe)
    if (operand.kind !== 'value' && operand.kind !== 'function') yield* operand.path
  }
}
