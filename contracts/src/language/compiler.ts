import { service } from '@svc/plugin-sdk'
import type { HirBlock, HirExpression, HirModule, HirParam, HirSpan } from './hir.ts'

/** Reads source texts, for program runners. */
export const languageCompiler = service<LanguageCompiler>('language.compiler@1')

export interface LanguageCompiler {
  /**
   * Parses, checks and lowers a text. Its diagnostics are part of the result. `script` allows top-level statements
   * next to declarations; they become the function `main`.
   */
  compile(file: ProgramText, options: { readonly script: boolean }): Promise<CompileResult>
  /**
   * Reads files, and all source files of folders except those with a line `// vox:skip`. Paths are absolute or relative
   * to the current folder. Throws `CMP_FILE_UNREADABLE`, and `CMP_SOURCES_MISSING` without any source.
   */
  read(paths: readonly string[]): Promise<readonly ProgramText[]>
  /** HTTP interface of a program for its clients, identical to the output of `svc build`. */
  describe(program: Program): ProgramDescription
}

export interface ProgramDescription {
  /** An OpenAPI 3.1 document: the file `openapi.json` of a build. */
  readonly openApi: string
  /** A standalone TypeScript module: the file `vox-client.ts` of a build. */
  readonly client: string
}

export interface ProgramText {
  /** The path as given. */
  readonly path: string
  readonly text: string
}

export type CompileResult =
  | { readonly ok: true; readonly program: Program; readonly warnings: string }
  | {
      readonly ok: false
      /** For people: each finding with an excerpt of the source. */
      readonly report: string
      /** For programs, as `svc check --format json` prints them. */
      readonly diagnostics: readonly object[]
    }

/** A program without errors, with data outside of the arrays of its module. */
export interface Program extends ProgramText {
  readonly module: HirModule
  /** Functions with `@test` and `@forall`. */
  readonly tests: readonly ProgramTest[]
  /** `const`, and `let` outside of functions, in the order of the source. */
  readonly constants: HirBlock
  /** Conditions before and after a function, from `@require`, `@ensure` and `@invariant`. */
  readonly conditions: readonly ProgramCondition[]
  /** Names of its browser components. */
  readonly components: readonly string[]
  /** In the order of the source. */
  readonly indexes: readonly ProgramIndex[]
  /** Defaults of the members of structs. */
  readonly defaults: readonly { readonly type: string; readonly field: string; readonly value: HirExpression }[]
}

export interface ProgramTest {
  readonly name: string
  /** Value of the decorator; null without one. */
  readonly title: string | null
  readonly kind: 'test' | 'forall'
  readonly params: readonly HirParam[]
  readonly body: HirBlock
  readonly span: HirSpan
}

export interface ProgramIndex {
  /** `search` is for full-text search, `vector` for the nearest of a column `Tensor[N]`. */
  readonly kind: 'btree' | 'search' | 'vector'
  /** Name of the declaration. */
  readonly table: string
  readonly name: string
  readonly columns: readonly string[]
  /** `tokenize` of a search index, `metric` of a vector index; null for the default of the store. */
  readonly option: string | null
  readonly span: HirSpan
}

export interface ProgramCondition {
  /** Name of the function. */
  readonly of: string
  readonly kind: 'require' | 'ensure' | 'invariant'
  readonly condition: HirExpression
  /** Message for a violation; null without one. */
  readonly message: string | null
}
