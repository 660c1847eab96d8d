import type { Hir } from '@svc/contracts'
import type { Doc } from '../doc/doc.ts'
import type { Build, EmittedModule } from '../typescript/module.ts'

/** An expression of the program, with its TypeScript. */
export interface WebExpression {
  readonly node: Hir.Expr
  readonly code: Doc
}

/** Components of a program, whose expressions are TypeScript. The web IR and the files of the components are printed from it. */
export interface WebTree extends Build {
  readonly components: readonly WebComponent[]
}

export interface WebComponent {
  readonly name: string
  readonly props: readonly WebProp[]
  /** Members in the order in which they run. */
  readonly members: readonly WebMember[]
  /** null for a function whose statements return the view. */
  readonly view: WebNode | null
  readonly styles: readonly Hir.StyleRule[]
  /** Module of the component, with the imports of its code. */
  readonly file: EmittedModule
}

export interface WebProp {
  readonly name: string
  readonly variable: string
  readonly type: string
  /** Default value; null if the property is required. */
  readonly value: WebExpression | null
}

export type WebMember = WebState | WebDerived | WebEffect | WebResponse | WebStatements

/** Statements between the members, or those of a function that is used as an element. */
export interface WebStatements {
  readonly kind: 'statements'
  /** Empty for code that the translation adds. */
  readonly nodes: Hir.Block
  readonly codes: readonly Doc[]
}

/** A value that is requested from the server while the component renders. */
export interface WebResponse {
  readonly kind: 'response'
  readonly node: Hir.Call
  readonly variable: string
  readonly code: Doc
}

export interface WebState {
  readonly kind: 'state'
  /** Name in the program. */
  readonly name: string
  readonly variable: string
  readonly setter: string
  /** null if TypeScript infers the type. */
  readonly type: string | null
  /** Value in the program. */
  readonly node: Hir.Expr
  /** TypeScript of the first value: of the node, or a first value until the server responds. */
  readonly initial: Doc
  /** True if the initial value is computed once, by a function. */
  readonly isLazy: boolean
  /** Offset of the declaration in the source. */
  readonly start: number
}

export interface WebDerived {
  readonly kind: 'derived'
  /** Name in the program. */
  readonly name: string
  readonly variable: string
  /** null if TypeScript infers the type. */
  readonly type: string | null
  readonly value: WebExpression
  readonly start: number
}

export interface WebEffect {
  readonly kind: 'effect'
  /** `load`: fetches an initial state, once. `change`: runs if a dependency changes. */
  readonly moment: 'load' | 'change' | 'mount' | 'cleanup'
  /** Variables whose changes run the effect. */
  readonly dependencies: readonly string[]
  /** Dependencies in the source, with names of the program; null if it has none. */
  readonly dependsOn: readonly string[] | null
  /** Body in the program; for `load`, the first value of the state. */
  readonly node: Hir.Expr
  readonly statements: readonly Doc[]
  readonly isAsync: boolean
  /** Variable of the newest version of a `cleanup` that reads variables; null for other effects. */
  readonly latest: string | null
  readonly start: number
}

/** A part of a view. */
export type WebNode =
  | {
      readonly kind: 'element'
      readonly node: Hir.Element
      readonly tag: string
      readonly attributes: readonly WebAttribute[]
      readonly children: readonly WebNode[]
    }
  | { readonly kind: 'fragment'; readonly node: Hir.Expr; readonly children: readonly WebNode[] }
  | {
      readonly kind: 'text'
      /** The string as written, with placeholders. */
      readonly node: Hir.Str
      readonly parts: readonly TextPart[]
    }
  | ({ readonly kind: 'expression' } & WebExpression)
  | {
      readonly kind: 'island'
      readonly node: Hir.Element
      readonly name: string
      readonly props: readonly WebAttribute[]
      /** Number of children in the program, which are not shown. */
      readonly ignored: number
    }

export interface WebAttribute {
  readonly name: string
  /** Expressions of the program that the code evaluates, in order; several of a class or a style. A handler is one. */
  readonly nodes: readonly Hir.Expr[]
  /** TypeScript. A string is a double-quoted literal. */
  readonly code: Doc
}

/** A part of a view string: literal text, or a placeholder. */
export type TextPart = { readonly text: string } | WebExpression
