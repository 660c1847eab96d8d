import { service } from '@svc/plugin-sdk'
import type { ProgramFacts } from './facts.ts'
import type { GuardDeclaration } from './guards.ts'
import type { Body } from './hir/expressions.ts'
import type { HirModule, HirParam, HirSpan } from './hir.ts'
import type { RowRules } from './row-rules.ts'
import type { ProgramUsers } from './users.ts'

/** Compiler of the source language, for program runners. */
export const languageCompiler = service<LanguageCompiler>('language.compiler@1')

export interface LanguageCompiler {
  /**
   * Parses, checks and lowers a program. Diagnostics are part of the result. `script` allows top-level statements next
   * to declarations; they become the function `main`. `signal` is for texts of clients: a long text is compiled in a
   * thread with limits, and the signal stops it. Throws `CMP_LIMIT`, and the reason of the signal.
   */
  compile(
    file: ProgramText,
    options: { readonly script: boolean; readonly signal?: AbortSignal }
  ): Promise<CompileResult>
  /**
   * Reads files, and all source files of folders except those with a line `// vox:skip`. Paths are absolute or relative
   * to the current folder. Throws `CMP_FILE_UNREADABLE`, and `CMP_SOURCES_MISSING` if there are no source files.
   */
  read(paths: readonly string[]): Promise<readonly ProgramText[]>
  /** Returns the HTTP interface of a program for its clients, identical to the output of `svc build`. */
  describe(program: Program): ProgramDescription
}

export interface ProgramDescription {
  /** An OpenAPI 3.1 document: the file `openapi.json` of a build. */
  readonly openApi: string
  /** A standalone TypeScript module: the file `vox-client.ts` of a build. */
  readonly client: string
}

export interface ProgramText {
  /** The path as passed in. */
  readonly path: string
  readonly text: string
}

export type CompileResult =
  | { readonly ok: true; readonly program: Program; readonly warnings: string }
  | {
      readonly ok: false
      /** Human-readable: each finding with an excerpt of the source. */
      readonly report: string
      /** Machine-readable, as in `svc check --format json`. */
      readonly diagnostics: readonly object[]
    }

/** A program without errors: its module, and data that the module's arrays do not hold. */
export interface Program extends ProgramText {
  readonly module: HirModule
  /** Functions with `@test` and `@forall`. */
  readonly tests: readonly ProgramTest[]
  /** `const`, and `let` outside functions, in source order: one `Let` each, whose variables are the constants. */
  readonly constants: readonly Body[]
  /** Preconditions and postconditions of functions, from `@require`, `@ensure` and `@invariant`. */
  readonly conditions: readonly ProgramCondition[]
  /** Names of the browser components. */
  readonly components: readonly string[]
  /** Indexes in source order. */
  readonly indexes: readonly ProgramIndex[]
  /** Defaults of the members of structs. */
  readonly defaults: readonly {
    readonly type: string
    readonly field: string
    readonly code: Body
  }[]
  /** Guards of functions, routes and pages, in source order. A declaration without a guard is not listed. */
  readonly guards: readonly GuardDeclaration[]
  readonly facts: ProgramFacts
  /** Names in the `// vox:caps` comments of the program; null if it has none. */
  readonly capabilities: readonly string[] | null
  /** Row rules of the tables that have some. */
  readonly rules: readonly RowRules[]
  /** null if the program declares no table of users. */
  readonly users: ProgramUsers | null
}

export interface ProgramTest {
  readonly name: string
  /** Value of the decorator; null if it has none. */
  readonly title: string | null
  readonly kind: 'test' | 'forall'
  readonly params: readonly HirParam[]
  readonly code: Body
  readonly span: HirSpan
}

export interface ProgramIndex {
  /** `search`: full-text search. `vector`: nearest neighbours in a column `Tensor[N]`. */
  readonly kind: 'btree' | 'search' | 'vector'
  /** Name of the declaration. */
  readonly table: string
  readonly name: string
  readonly columns: readonly string[]
  /** `tokenize` of a search index, `metric` of a vector index; null for the default of the store. */
  readonly option: string | null
  /** True if no two rows may have equal values in all columns; rows with an empty value never conflict. */
  readonly unique: boolean
  readonly span: HirSpan
}

export interface ProgramCondition {
  /** Name of the function. */
  readonly of: string
  readonly kind: 'require' | 'ensure' | 'invariant'
  /** One expression. Its variables are the parameters of the function, then `result` in a postcondition. */
  readonly code: Body
  /** Message for a violation; null if none is declared. */
  readonly message: string | null
}
