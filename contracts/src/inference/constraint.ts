import { point } from '@svc/plugin-sdk'

/**
 * Constraint on an answer. Enforced token by token: every complete output is a text that the constraint accepts, unless
 * the sequence ends early at `maxTokens`, at a stop string, or because it is cancelled.
 */
export type OutputConstraint =
  /** Any JSON value that is an object. */
  | { readonly type: 'json-object' }
  /** JSON that is valid against a JSON Schema; keywords outside the supported subset are refused by name. */
  | { readonly type: 'json-schema'; readonly schema: Readonly<Record<string, unknown>> }
  /** Text that a regular expression matches as a whole: ECMAScript syntax without look-around and back-references. */
  | { readonly type: 'regex'; readonly pattern: string }
  /** Text of a grammar of the caller. */
  | { readonly type: 'grammar'; readonly grammar: TextGrammar }

/**
 * A language over bytes of UTF-8, read from left to right.
 *
 * States are values: `advance` returns a new state and does not change the old one. States with the same `key` accept
 * the same continuations, so an engine can cache results by key.
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
  /** The state after one more byte, 0 to 255; null if no text of the language continues with it. */
  advance(byte: number): TextGrammarState | null
}

/** A grammar that requests can name, contributed by a plugin. A compiler contributes the grammar of its language. */
export interface NamedGrammar {
  /** Name in requests, for example `vox`. Lower case, digits and dashes. */
  readonly name: string
  /** One line for people. */
  readonly summary: string
  open(): TextGrammar
}

export const inferenceGrammars = point<NamedGrammar>('inference.grammars', { keys: ({ name }) => [name] })
