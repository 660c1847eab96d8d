import { point } from '@svc/plugin-sdk'

/**
 * Constraint on the output, enforced token by token. Every output satisfies the constraint, unless the sequence ends
 * early: at `maxTokens`, at a stop string, or by cancellation.
 */
export type OutputConstraint =
  /** Any JSON value that is an object. */
  | { readonly type: 'json-object' }
  /** JSON that is valid against a JSON Schema; unsupported keywords are rejected by name. */
  | { readonly type: 'json-schema'; readonly schema: Readonly<Record<string, unknown>> }
  /** Text that a regular expression matches as a whole: ECMAScript syntax without look-around and back-references. */
  | { readonly type: 'regex'; readonly pattern: string }
  /**
   * Text that a grammar in llama.cpp's GBNF notation accepts, from its rule `root`. Left recursion and tokens in angle
   * brackets are rejected.
   */
  | { readonly type: 'gbnf'; readonly grammar: string }
  /** Text that the caller's grammar accepts. */
  | { readonly type: 'grammar'; readonly grammar: TextGrammar }

/**
 * Grammar over UTF-8 bytes, read from left to right.
 *
 * States are immutable: `advance` returns a new state. States with the same `key` accept the same continuations, so an
 * engine can cache results by key.
 */
export interface TextGrammar {
  /** The state before the first byte. */
  start(): TextGrammarState
}

export interface TextGrammarState {
  /** Equal for states that accept the same continuations. */
  readonly key: string
  /** Whether the text may end here. */
  readonly accepting: boolean
  /** Returns the state after one more byte, 0 to 255; null if the grammar does not allow the byte here. */
  advance(byte: number): TextGrammarState | null
}

/** Grammar that requests can select by name. A compiler, for example, contributes the grammar of its language. */
export interface NamedGrammar {
  /** Name in requests, for example `vox`. Lower case, digits and dashes. */
  readonly name: string
  /** One-line description. */
  readonly summary: string
  open(): TextGrammar
}

export const inferenceGrammars = point<NamedGrammar>('inference.grammars', { keys: ({ name }) => [name] })
