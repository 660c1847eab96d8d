import type { StubSeverity } from '@svc/contracts'
import type { LanguageId } from '../engine/language.ts'

export interface Rule {
  readonly id: string
  readonly name: string
  readonly severity: StubSeverity
  /** Languages that the rule applies to; absent: all. */
  readonly languages?: readonly LanguageId[]
  readonly suggestion?: string
}

/**
 * Part of a file that a text rule reads. `comment`: lines of comments, without quoted text. `code`: code without comments and
 * the contents of strings. `source`: code with strings, where a match must begin outside of strings. `string`: contents of
 * string literals. `text`: the whole file.
 */
export type TextScope = 'comment' | 'code' | 'source' | 'string' | 'text'

/** Rule as data: a pattern in a part of the file. */
export interface TextRule extends Rule {
  /** Rule of the table that this one belongs to. */
  readonly parentId?: string
  readonly in: TextScope
  /** With the flag `g`. */
  readonly pattern: RegExp
  /** Texts in lower case of which the file must contain one, so that most files are not searched. */
  readonly needs?: readonly string[]
  /** Lines that are not reported. */
  readonly skip?: readonly RegExp[]
  /** Paths that are not searched. */
  readonly skipPaths?: RegExp
  readonly message: string
  /** Examples that the tests check: `hits` are reported, `misses` are not. */
  readonly fixtures: { readonly path: string; readonly hits: readonly string[]; readonly misses: readonly string[] }
}

/** Paths of tests, examples and data for tests. */
export const TEST_PATH =
  /(?:^|\/)(?:tests?|__tests__|specs?|fixtures?|testing|testdata|__mocks__|mocks?|bench|benches|benchmarks|examples?|e2e)\/|[._-](?:test|spec|bench)\.\w+$|(?:^|\/)(?:test_[^/]*|conftest)\.py$|_test\.\w+$/i
