import type { Hir } from '@svc/contracts'
import type { Doc } from '../doc/doc.ts'
import type { Build, EmittedModule } from '../typescript/module.ts'

/** Components of a program, whose expressions are TypeScript. The web IR and the files of the components are printed from it. */
export interface WebTree extends Build {
  readonly components: readonly WebComponent[]
}

export interface WebComponent {
  readonly name: string
  /** Place of the name: offsets in the text. */
  readonly span: Hir.Span
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
  readonly value: Doc | null
}

export type WebMember = WebState | WebDerived | WebEffect | { readonly kind: 'statement'; readonly code: Doc }

export interface WebState {
  readonly kind: 'state'
  /** Name in the program. */
  readonly name: string
  readonly variable: string
  readonly setter: string
  /** null if TypeScript infers the type. */
  readonly type: string | null
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
  readonly value: Doc
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
      readonly tag: string
      readonly attributes: readonly WebAttribute[]
      readonly children: readonly WebNode[]
    }
  | { readonly kind: 'fragment'; readonly children: readonly WebNode[] }
  | {
      readonly kind: 'text'
      /** The string as written, with placeholders. */
      readonly content: string
      readonly parts: readonly TextPart[]
    }
  | { readonly kind: 'expression'; readonly code: Doc }
  | {
      readonly kind: 'island'
      readonly name: string
      readonly props: readonly WebAttribute[]
      /** Number of children in the program, which are not shown. */
      readonly ignored: number
    }

export interface WebAttribute {
  readonly name: string
  /** TypeScript. A string is a double-quoted literal. */
  readonly code: Doc
}

/** A part of a view string: literal text, or the TypeScript of a placeholder. */
export type TextPart = { readonly text: string } | { readonly value: Doc }
