import { setImmediate } from 'node:timers/promises'

/** Source of a vocabulary's token bytes. */
export interface VocabularySource {
  /** Number of token ids. */
  readonly size: number
  /** Returns the bytes of a token; none for ids without text. */
  bytes(token: number): Uint8Array
  /** True if the token may be part of text; false for special and end tokens. */
  isText(token: number): boolean
}

/** Maximum time between two yields to the event loop, in milliseconds. */
const MAX_STRETCH_MS = 8
/** Maximum length of a token. Longer ones are never allowed; no known vocabulary has any. */
const MAX_TOKEN_BYTES = 4096

/**
 * Byte trie of a vocabulary, laid out for sequential walks. Nodes are numbered in lexicographic order, so the nodes
 * below `node` are `node + 1` to `endOf[node] - 1`.
 */
export class TokenTrie {
  /** Number of token ids of the vocabulary. */
  readonly vocabularySize: number
  /** Last byte of each node's prefix; node 0 is the empty prefix. */
  readonly byteOf: Uint8Array
  /** Length of each node's prefix. */
  readonly depthOf: Uint16Array
  /** First node after all nodes below a node. */
  readonly endOf: Int32Array
  /** Tokens that end at `node`: from index `firstToken[node]` to `firstToken[node + 1] - 1` of the token list. */
  readonly firstToken: Int32Array
  readonly tokens: Int32Array
  /** Bytes of the longest token. */
  readonly depth: number

  constructor(vocabularySize: number, layout: Layout) {
    const { nodes } = layout
    this.vocabularySize = vocabularySize
    this.byteOf = layout.byteOf.slice(0, nodes)
    this.depthOf = layout.depthOf.slice(0, nodes)
    this.endOf = layout.endOf.slice(0, nodes)
    this.firstToken = layout.firstToken.slice(0, nodes + 1)
    this.tokens = layout.tokens
    this.depth = layout.depth
  }

  get nodes(): number {
    return this.byteOf.length
  }
}

/** Builds the trie of a vocabulary. Large ones take some tenths of a second, with yields to the event loop. */
export async function buildTokenTrie(vocabulary: VocabularySource): Promise<TokenTrie> {
  const pause = pacer()
  // Strings with one character per byte, grouped by their first two bytes: sorting small groups yields often.
  const groups = new Map<string, Map<string, number[]>>()
  let totalBytes = 0
  let totalTokens = 0
  for (let token = 0; token < vocabulary.size; token++) {
    if (token % 512 === 0) await pause()
    if (!vocabulary.isText(token)) continue
    const bytes = vocabulary.bytes(token)
    if (bytes.length === 0 || bytes.length > MAX_TOKEN_BYTES) continue
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
    const group = entryOf(groups, text.slice(0, 2), () => new Map<string, number[]>())
    entryOf(group, text, () => []).push(token)
    totalBytes += bytes.length
    totalTokens++
  }
  const layout = new Layout(totalBytes, totalTokens)
  for (const start of [...groups.keys()].sort()) {
    const group = groups.get(start) ?? new Map<string, number[]>()
    await pause()
    for (const text of [...group.keys()].sort()) layout.add(text, group.get(text) ?? [])
  }
  layout.finish()
  return new TokenTrie(vocabulary.size, layout)
}

function pacer(): () => Promise<void> {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < MAX_STRETCH_MS) return
    await setImmediate()
    since = performance.now()
  }
}

function entryOf<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  let value = map.get(key)
  if (value === undefined) map.set(key, (value = make()))
  return value
}

/** Numbers the nodes for sorted strings. */
class Layout {
  readonly byteOf: Uint8Array
  readonly depthOf: Uint16Array
  readonly endOf: Int32Array
  readonly firstToken: Int32Array
  readonly tokens: Int32Array
  nodes = 1
  depth = 0
  #tokenCount = 0
  /** Nodes of the prefixes of the last string. */
  readonly #path: number[] = [0]
  #last = ''

  /** Allocates at most one node per byte, plus the root. */
  constructor(bytes: number, tokens: number) {
    this.byteOf = new Uint8Array(bytes + 1)
    this.depthOf = new Uint16Array(bytes + 1)
    this.endOf = new Int32Array(bytes + 1)
    this.firstToken = new Int32Array(bytes + 2)
    this.tokens = new Int32Array(tokens)
  }

  add(text: string, tokens: readonly number[]): void {
    let common = 0
    while (common < this.#last.length && text.charCodeAt(common) === this.#last.charCodeAt(common)) common++
    this.#close(common)
    for (let depth = common + 1; depth <= text.length; depth++) {
      const node = this.nodes++
      this.#path[depth] = node
      this.byteOf[node] = text.charCodeAt(depth - 1)
      this.depthOf[node] = depth
      this.firstToken[node] = this.#tokenCount
    }
    for (const token of tokens) this.tokens[this.#tokenCount++] = token
    this.firstToken[this.nodes] = this.#tokenCount
    this.depth = Math.max(this.depth, text.length)
    this.#last = text
  }

  finish(): void {
    this.#close(-1)
  }

  /** Closes the nodes deeper than `depth`. */
  #close(depth: number): void {
    for (let open = this.#last.length; open > depth; open--) this.endOf[this.#path[open] as number] = this.nodes
  }
}
